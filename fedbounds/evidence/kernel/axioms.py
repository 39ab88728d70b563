"""Which axioms a proof may rest on, read from what Rocq prints."""

import re
from collections.abc import Mapping

# What the standard library's real numbers rest on, by name and in full: a name alone may be another module's.
AXIOMS: Mapping[str, str] = {
    "sig_forall_dec": "forall P : nat -> Prop, (forall n : nat, {P n} + {~ P n}) -> "
    "{n : nat | ~ P n} + {forall n : nat, P n}",
    "sig_not_dec": "forall P : Prop, {~ ~ P} + {~ P}",
    "functional_extensionality_dep": "forall (A : Type) (B : A -> Type) (f g : forall x : A, B x), "
    "(forall x : A, f x = g x) -> f = g",
}


def axioms_in(printed: str) -> tuple[tuple[str, ...], list[str]]:
    """(names, what is not allowed) of an answer to ``Print Assumptions``.

    Types are indented; any other line begins an axiom, or tells of a guard of the kernel that was switched off.
    """
    said = [" ".join(entry.split()) for entry in re.split(r"\n(?=\S)", printed.strip())]
    told = [entry for entry in said if entry not in ("", "Axioms:", "Closed under the global context")]
    return tuple(sorted(entry.partition(" :")[0] for entry in told)), [one for one in told if not allowed(one)]


def allowed(entry: str) -> bool:
    """Whether Rocq's line on an axiom says one of the standard library's, in full."""
    name, _, stated = entry.partition(" : ")
    return AXIOMS.get(name.rpartition(".")[2]) == stated
