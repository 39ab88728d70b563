From Coq Require Import Reals Lra Lia.
Require Import Space Model Facts Drift proof_sharper_step.
Open Scope R_scope.

Definition statement : Prop := forall (P : Problem) (M : Step P) (L mu sigma_sq G_sq rho_bar rho_tilde : R) (tau : nat),
  setting M -> in_round M tau -> 0 < mu -> mu <= L -> 0 <= rho_bar -> 0 <= sigma_sq ->
  smooth (P := P) L -> strongly_convex (P := P) mu -> bounded_variance M sigma_sq -> bounded_gradient M G_sq ->
  skew_at_least M rho_bar -> star_skew_at_most M rho_tilde -> eta M * L <= 1 -> slow_decay M ->
  Delta_next M <= (1 - eta M * mu * (1 + 3 / 8 * rho_bar)) * Delta M + (eta M) ^ 2 * (32 * (INR tau) ^ 2 * G_sq)
     + (eta M) ^ 2 * (6 * rho_bar * L * Gamma (P := P)) + (eta M) ^ 2 * sigma_sq
     + 2 * eta M * Gamma (P := P) * (rho_tilde - rho_bar).

Theorem proof : statement.
Proof.
  intros P M L mu s2 G2 rb rt tau ok Htau Hmu HL Hrb Hs2 Hs Hc Hv HG Hr Ht Hsmall Hslow.
  pose proof (proof_sharper_step.proof P M L mu G2 rb rt ok Hmu HL Hrb Hs Hc HG Hr Ht) as A.
  pose proof (drift_bound M ok G2 tau HG Hslow Htau) as B.
  destruct (ok) as (Hp & Hch & Hw & Ho & _ & Hm & _ & He).
  assert (D0 : 0 <= Delta M).
  { rewrite <- (expected_const M ok 0). apply (expected_le M ok). intros; apply ip_pos. }
  assert (R0 : 0 <= drift M).
  { rewrite <- (expected_const M ok 0). apply (expected_le M ok). intros c k C. apply mean_nonneg; [apply (Hw c (proj1 C))|]. intros; apply ip_pos. }
  assert (Ga : 0 <= Gamma (P := P)) by (apply mean_nonneg; [assumption|]; intros; apply (excess_nonneg M ok); assumption).
  assert (T : 1 <= (INR tau) ^ 2).
  { unfold in_round in Htau. assert (1 <= INR tau) by (apply (le_INR 1); lia). nra. }
  assert (E2 : 0 < (eta M) ^ 2) by nra.
  assert (X : eta M * (L - mu) * drift M <= drift M) by (assert (eta M * (L - mu) <= 1) by nra; nra).
  set (T2 := INR tau ^ 2) in *. set (e2 := eta M ^ 2) in *.
  assert (G0 : 0 <= e2 * G2).
  { assert (U : 0 <= T2 * (e2 * G2)) by lra. destruct (Rle_or_lt 0 (e2 * G2)); [assumption|]. nra. }
  assert (Y : e2 * G2 <= T2 * (e2 * G2)) by nra.
  assert (Z : 0 <= eta M * mu * rb * Delta M) by (repeat apply Rmult_le_pos; lra).
  assert (W : 0 <= e2 * (6 * rb * L * Gamma (P := P))) by (repeat apply Rmult_le_pos; lra).
  assert (Q : 0 <= e2 * s2) by (apply Rmult_le_pos; lra).
  lra.
Qed.
