"""What noise adds to a step, in Rocq: to squares, and to losses after the step."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import sympy as sp

from fedbounds.evidence.kernel.claim_statement import rocq
from fedbounds.evidence.kernel.step_facts import NEXT_LOSS, OF_MEAN, WORDS, StepFacts
from fedbounds.theory import symbols as sy
from fedbounds.theory.vectors import Loss

VECTORS_IN = re.compile(r"\(w_star P\)|\(w M c k\)")


def noise_lines(step: StepFacts, bound: sp.Expr) -> Iterator[str]:
    """What bounds the variance of the mean noise."""
    there = "(centre (N P) (alpha M c) (xi M c k s))"
    yield f"  assert (Nz : variance M c k <= {rocq(bound, WORDS)}).\n  {{ unfold variance, mean_noise_of. "
    if bound in OF_MEAN:
        yield f"unfold given_past. rewrite (mean_ext _ _ _ (fun s => norm_sq {there.replace('alpha M c', 'p P')}))\n"
        yield "      by (intros; rewrite (centre_same _ _ (p P) _ _ (fun i Hi => conj (Ex i Hi) eq_refl)); "
        yield "reflexivity).\n"
        why = "first [assumption | apply equal_variances; assumption"
        why += " | eapply equal_clients; [eassumption .. | field; apart]]"
        yield f"    apply (mean_noise M); {why}. }}\n"
    else:
        yield "pose proof (noise_bound M ok sigma_sq c k Hck ltac:(assumption)). lra. }\n"
    yield "  pose proof (Rmult_le_compat_l _ _ _ (Rlt_le _ _ (Rmult_lt_0_compat _ _ He He)) Nz) as Nt.\n"


def after_lines(k: int, step: StepFacts, symbol: sp.Symbol, term: str, bound: sp.Expr) -> Iterator[str]:
    """A quantity that is measured after the step, as that of the mean step and what noise adds."""
    after, writer = step.after(symbol), step.writer
    rest = sp.expand(step.meaning(symbol) - after)
    if after.has(Loss):
        of = f"({writer.number(after / NEXT_LOSS)}) * {{}} + ({writer.number(rest)})"
        losses = "mean (N P) (p P) (fun i => F P i (w_next M c k s))"
        yield f"  assert (R{k} : {term} = {of.format(f'given_past M c k (fun s => {losses})')}).\n"
        yield f"  {{ unfold given_past. rewrite (mean_ext _ _ _ (fun s => {of.format(losses)})) by (intros; ring).\n"
        yield "    rewrite mean_plus, mean_times, (mean_const _ _ _ (Ho c k Hck)). reflexivity. }\n"
        yield f"  rewrite R{k}.\n  pose proof (loss_after M ok L c k (fun i => {writer.vector(step.bends)})\n"
        yield "    ltac:(assumption) Hck) as O.\n  cbv beta in O. unfold ahead in O.\n"
        share, why = "L / 2", "lra"
    else:
        by, to = step.apart(symbol)
        order = swaps(["(w_next M c k s)", *VECTORS_IN.findall(to)])
        yield f"  assert (R{k} : {term} =\n"
        yield f"    given_past M c k (fun s => norm_sq (add (scale {by} (w_next M c k s)) {to}))).\n"
        yield f"  {{ unfold given_past. apply mean_ext. intros s Hs. open_fact. {order}field; apart. }}\n"
        yield f"  rewrite R{k}, (square_after M ok c k {by} {to} Hck). unfold ahead.\n"
        share, why = f"{by} * {by}", f"apply (Rle_0_sqr {by})"
    share, added = (
        f"{share} * (eta M * eta M * {{}})",
        rocq(sp.expand(step.share(after) * sy.eta**2 * bound), WORDS),
    )
    yield f"  assert (N{k} : {share.format('variance M c k')} <= {added}).\n"
    yield f"  {{ replace ({added}) with ({share.format(f'({rocq(bound, WORDS)})')}) by (field; lra).\n"
    yield f"    apply Rmult_le_compat_l; [{why} | exact Nt]. }}\n"


def swaps(vectors: Sequence[str]) -> str:
    """What puts the inner products of these vectors in one order."""
    pairs = [f"?(ip_sym _ {b} {a})" for k, b in enumerate(vectors) for a in vectors[:k] if a != b]
    return f"rewrite {', '.join(pairs)}; " if pairs else ""
