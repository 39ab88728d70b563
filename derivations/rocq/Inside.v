(* What proofs of one step that are found rest on: what is measured is not negative, the drift after fewer than tau
   steps, and what noise adds to a square and to a loss after the step. *)
From Coq Require Import Reals Lra Lia.
Require Import Space Model Horizon Rounds Facts Together Drift.
Open Scope R_scope.

Lemma same_point {V : Space} (u v : V) : (forall y, ip u y = ip v y) -> u = v.
Proof.
  intros E. apply apart_zero, ip_definite. unfold sub at 1. rewrite ip_add, ip_scale, E. ring.
Qed.


Lemma shift a b : a <= b -> 0 <= b - a.
Proof. lra. Qed.

Section Inside.
Context {P : Problem} (M : Step P).
Hypothesis ok : setting M.

Lemma drift_nonneg : 0 <= drift M.
Proof.
  rewrite <- (expected_const M ok 0). apply (expected_le M ok). intros c k C. destruct ok as (_ & _ & _ & Hw & _).
  apply mean_nonneg; [apply (Hw c (proj1 C))|]. intros; apply ip_pos.
Qed.
Lemma Delta_nonneg : 0 <= Delta M.
Proof. rewrite <- (expected_const M ok 0). apply (expected_le M ok). intros; apply ip_pos. Qed.
Lemma gap_nonneg : 0 <= gap_t M.
Proof.
  rewrite <- (expected_const M ok 0). apply (expected_le M ok). intros c k C.
  destruct ok as (_ & _ & _ & _ & _ & _ & _ & Hopt & _). pose proof (Hopt (w M c k)). lra.
Qed.
Lemma Gamma_nonneg : 0 <= Gamma P.
Proof.
  destruct (ok) as (Hp & _). apply mean_nonneg; [assumption|]. intros; apply (excess_nonneg M ok); assumption.
Qed.

(* The local models of a round of tau steps have taken fewer; n bounds the square of the ratio of steps. *)
Section Drift.
Context (G_sq ratio n : R) (tau : nat).
Hypotheses (HG : bounded_gradient M G_sq) (Hr : 0 <= ratio) (Hn : ratio ^ 2 <= n) (Hs : steps_within M ratio)
  (Ht : in_round M tau) (H0 : 0 <= G_sq).
Lemma drift_taken q : INR (taken M) <= q -> drift M <= n * ((eta M) ^ 2 * q ^ 2 * G_sq).
Proof.
  intros Hq. eapply Rle_trans; [apply (drift_bound M ok G_sq ratio (taken M) HG Hr Hs (le_n _))|].
  pose proof (pos_INR (taken M)). assert (A : INR (taken M) ^ 2 <= q ^ 2) by nra.
  pose proof (pow2_ge_0 ratio). pose proof (pow2_ge_0 (eta M)). pose proof (pow2_ge_0 (INR (taken M))).
  rewrite !Rmult_assoc. apply Rmult_le_compat; [assumption|apply Rmult_le_pos; [|apply Rmult_le_pos]; assumption|assumption|].
  apply Rmult_le_compat_l; [assumption|]. apply Rmult_le_compat_r; assumption.
Qed.
Lemma drift_inside : drift M <= n * ((eta M) ^ 2 * (INR tau - 1) ^ 2 * G_sq).
Proof.
  apply drift_taken. replace (INR tau - 1) with (INR (tau - 1)).
  - apply le_INR. unfold in_round in Ht. lia.
  - rewrite minus_INR; [reflexivity|]. unfold in_round in Ht. lia.
Qed.
Lemma drift_round : drift M <= n * ((eta M) ^ 2 * INR tau ^ 2 * G_sq).
Proof. apply drift_taken. apply le_INR. unfold in_round in Ht. lia. Qed.
End Drift.

Definition mean_noise_of c k s : V P := centre (N P) (alpha M c) (xi M c k s).
Definition variance c k : R := given_past M c k (fun s => norm_sq (mean_noise_of c k s)).
End Inside.

(* Where alpha is p, the drift from the iterate that is weighted by p is the same. *)
Lemma drift_by_p {P : Problem} (M : Step P) : ratio_at_least M 1 -> ratio_at_most M 1 -> drift_p M = drift M.
Proof.
  intros Hl Hm. unfold drift_p, drift, expected, since_start. apply mean_ext. intros c C. apply mean_ext. intros k _.
  apply mean_ext. intros i _. replace (w_p M c k) with (w M c k); [reflexivity|].
  apply same_point. intros y. unfold w, w_p. rewrite !ip_centre. apply sum_ext. intros j Hj.
  pose proof (Hl c j C Hj). pose proof (Hm c j C Hj). replace (alpha M c j) with (p P j) by lra. reflexivity.
Qed.
