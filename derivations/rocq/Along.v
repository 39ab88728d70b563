(* The sharper step along a run with steps 1/(mu (t + gamma)), gamma = 4 L/mu. *)
From Coq Require Import Reals Lra Lia Arith.
Require Import Space Model Facts Horizon Recursion proof_sharper_step.
Open Scope R_scope.

Section Sharper.
Context {P : Problem} (M : nat -> Step P) (T tau : nat) (L mu G_sq rho_bar rho_tilde : R).
Hypothesis ok : run M T tau.
Hypotheses (HG0 : 0 <= G_sq) (HL : 0 < L) (Hmu : 0 < mu) (Hrt : 0 <= rho_tilde) (HmuL : mu <= L).
Definition offset : R := 4 * L * / mu.
Hypotheses (Heta : forall t, (t < T)%nat -> eta (M t) = / mu * / (offset + INR t))
  (HG : forall t, (t < T)%nat -> bounded_gradient (M t) G_sq) (Hs : smooth P L) (Hc : strongly_convex P mu)
  (Hskew : forall t, (t < T)%nat -> skew_at_least (M t) rho_bar)
  (Hstar : forall t, (t < T)%nat -> star_skew_at_most (M t) rho_tilde).

Lemma offset_four : 4 <= offset.
Proof.
  unfold offset. apply (Rmult_le_reg_r mu); [assumption|]. rewrite Rmult_assoc, Rinv_l by lra. lra.
Qed.
Lemma eta_schedule t : (t < T)%nat -> eta (M t) = / (mu * (INR t + offset)).
Proof.
  intros Ht. rewrite (Heta t Ht). pose proof offset_four. pose proof (pos_INR t).
  rewrite Rinv_mult by lra. rewrite (Rplus_comm offset). reflexivity.
Qed.
Lemma small_step t : (t < T)%nat -> 0 < eta (M t) /\ eta (M t) * L <= 1 / 4.
Proof.
  intros Ht. rewrite (eta_schedule t Ht). pose proof offset_four as O. pose proof (pos_INR t) as Q.
  assert (D : 0 < mu * (INR t + offset)) by (apply Rmult_lt_0_compat; lra).
  split; [apply Rinv_0_lt_compat; assumption|]. apply (Rmult_le_reg_l (mu * (INR t + offset))); [assumption|].
  rewrite <- Rmult_assoc, Rinv_r by lra. assert (mu * offset = 4 * L) by (unfold offset; field; lra).
  assert (0 <= mu * INR t) by (apply Rmult_le_pos; lra). lra.
Qed.
Lemma sharper_along r R t : (t < T)%nat -> 0 <= r -> r <= rho_bar -> rho_tilde <= R ->
  Delta_next (M t) <= (1 - (1 + r) / (INR t + offset)) * Delta (M t)
    + (1 + 4 * (INR tau) ^ 2) * G_sq / mu ^ 2 / (INR t + offset) ^ 2 + 2 * Gamma P * (R - r) / mu / (INR t + offset).
Proof.
  intros Ht Hr0 Hr HR. destruct (ok) as (Hset & _ & _). pose proof (Hset t ltac:(lia)) as S.
  pose proof (proof_sharper_step.proof P (M t) G_sq L mu r R S HG0 HL Hmu Hr0 ltac:(lra) HmuL (HG t Ht) Hs Hc
    (weaker_skew (M t) S r rho_bar Hr (Hskew t Ht)) (weaker_star (M t) S R rho_tilde HR (Hstar t Ht))) as A.
  destruct (small_step t Ht) as [E0 E1]. pose proof offset_four as O. pose proof (pos_INR t) as Q.
  pose proof (drift_schedule M T tau ok L mu Hs HL Hc Hmu offset G_sq t Ht ltac:(lra) (fun s Hle => eta_schedule s ltac:(lia)) (HG t Ht) HG0) as D.
  pose proof (drift_nonneg (M t) S) as D0.
  assert (B : eta (M t) * (L - mu) * drift (M t) <= 1 / 4 * drift (M t)).
  { apply Rmult_le_compat_r; [assumption|]. assert (0 <= eta (M t) * mu) by (apply Rmult_le_pos; lra). lra. }
  set (k := INR t + offset) in *. assert (K : 0 < k) by (unfold k; lra).
  assert (C : Delta_next (M t) <= (1 - eta (M t) * mu * (1 + r)) * Delta (M t) + (1 + 4 * INR tau ^ 2) * G_sq * (eta (M t)) ^ 2
    + 2 * Gamma P * (R - r) * eta (M t)) by lra.
  eapply Rle_trans; [exact C|]. right. rewrite (eta_schedule t Ht). fold k. field. lra.
Qed.
End Sharper.
