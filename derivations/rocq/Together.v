(* A round of one local step with the weights p: the local models are one point, and the step is that of the mean. *)
From Coq Require Import Reals Lra Lia.
Require Import Space Model Facts.
Open Scope R_scope.

Lemma apart_zero {V : Space} (x y : V) : sub x y = zero -> x = y.
Proof.
  unfold sub. intros E. rewrite <- (add_zero V x), <- (add_opposite V y), (add_comm V y), add_assoc, E, add_comm.
  apply add_zero.
Qed.

Lemma centre_of_one {V : Space} n a (f : nat -> V) v : weights n a -> (forall i, (i < n)%nat -> f i = v) -> centre n a f = v.
Proof.
  intros Ha Hf. apply apart_zero, ip_definite.
  assert (Q : forall y, ip (centre n a f) y = ip v y).
  { intros y. rewrite ip_centre, (mean_ext n a _ (fun _ => ip v y)) by (intros i Hi; rewrite (Hf i Hi); reflexivity).
    apply mean_const; assumption. }
  unfold sub. rewrite !ip_add, !ip_add_r, !ip_scale, !ip_scale_r, !Q. rewrite (ip_sym _ v (centre n a f)), Q. ring.
Qed.

(* A client's gradient vanishes at its own minimiser. *)
Lemma at_rest {P : Problem} (M : Step P) L i u : setting M -> smooth P L -> 0 <= L -> (i < N P)%nat ->
  ip (grad P i (w_i_star P i)) u = 0.
Proof.
  intros (_ & _ & _ & _ & _ & _ & Hm & _) Hs HL Hi.
  apply (no_slope _ (L / 2 * norm_sq u)); [pose proof (ip_pos _ u); unfold norm_sq; nra|].
  intros t. pose proof (Hm i (add (w_i_star P i) (scale t u)) Hi) as A.
  pose proof (Hs i (w_i_star P i) (add (w_i_star P i) (scale t u)) Hi) as B.
  replace (ip (grad P i (w_i_star P i)) (sub (add (w_i_star P i) (scale t u)) (w_i_star P i)))
    with (t * ip (grad P i (w_i_star P i)) u) in B by (open_goal; ring).
  replace (norm_sq (sub (add (w_i_star P i) (scale t u)) (w_i_star P i))) with (t * t * norm_sq u) in B
    by (open_goal; rewrite (ip_sym _ u (w_i_star P i)); ring). lra.
Qed.

Section Together.
Context {P : Problem} (M : Step P).
Hypothesis ok : setting M.
Hypothesis one : taken M = 0%nat.
Hypothesis least : ratio_at_least M 1.
Hypothesis largest : ratio_at_most M 1.

Lemma alpha_is_p c f : (c < H M)%nat -> mean (N P) (alpha M c) f = mean (N P) (p P) f.
Proof.
  intros C. unfold mean. apply sum_ext. intros i Hi.
  pose proof (least c i C Hi). pose proof (largest c i C Hi). replace (alpha M c i) with (p P i) by lra. reflexivity.
Qed.

Lemma one_model c k i : seen M c k -> (i < N P)%nat -> x M c k i = w M c k.
Proof.
  intros Hh Hi. destruct ok as (_ & _ & _ & Hw & _). destruct (Hw c (proj1 Hh)) as [Ha _].
  unfold w. symmetry. apply centre_of_one; [assumption|]. intros j Hj. unfold x. rewrite one. reflexivity.
Qed.


End Together.

Ltac not_negative := repeat (apply Rplus_le_le_0_compat || apply Rmult_le_pos || apply pow_le); lra.
Ltac open_fact := unfold tilt, level, excess, norm_sq, sub;
  repeat (rewrite ip_add || rewrite ip_add_r || rewrite ip_scale || rewrite ip_scale_r).
