From Coq Require Import Reals Lra Lia.
Require Import Space Model statement_theorem_1 Facts Drift proof_sharper_step.
Open Scope R_scope.

Theorem proof : statement_theorem_1.statement.
Proof.
  intros P M G2 L r mu rb rt s2 tau ok HG0 HL0 Hr0 Hmu Hrb Hrt Hs2 HL Hsmall Hr4 HG Hs Hslow Hc Hr Ht Hv Htau.
  pose proof (proof_sharper_step.proof P M G2 L mu rb rt ok HG0 HL0 Hmu Hrb Hrt HL HG Hs Hc Hr Ht) as A.
  pose proof (drift_bound M ok G2 r tau HG (Rlt_le _ _ Hr0) Hslow (Nat.lt_le_incl _ _ Htau)) as B0.
  assert (B : drift M <= 16 * (eta M) ^ 2 * (INR tau) ^ 2 * G2).
  { assert (r ^ 2 <= 16) by nra.
    assert (0 <= (eta M) ^ 2 * (INR tau) ^ 2 * G2) by (apply Rmult_le_pos; [apply Rmult_le_pos; apply pow2_ge_0|assumption]). nra. }
  destruct (ok) as (Hp & Hpos & Hch & Hw & Ho & _ & Hm & _ & He).
  assert (D0 : 0 <= Delta M).
  { rewrite <- (expected_const M ok 0). apply (expected_le M ok). intros; apply ip_pos. }
  assert (R0 : 0 <= drift M).
  { rewrite <- (expected_const M ok 0). apply (expected_le M ok). intros c k C. apply mean_nonneg; [apply (Hw c (proj1 C))|]. intros; apply ip_pos. }
  assert (Ga : 0 <= Gamma P) by (apply mean_nonneg; [assumption|]; intros; apply (excess_nonneg M ok); assumption).
  assert (T : 1 <= (INR tau) ^ 2).
  { unfold in_round in Htau. assert (1 <= INR tau) by (apply (le_INR 1); lia). nra. }
  assert (E2 : 0 < (eta M) ^ 2) by nra.
  assert (X : eta M * (L - mu) * drift M <= drift M) by (assert (eta M * (L - mu) <= 1) by nra; nra).
  set (T2 := INR tau ^ 2) in *. set (e2 := eta M ^ 2) in *.
  assert (G0 : 0 <= e2 * G2).
  { assert (U : 0 <= T2 * (e2 * G2)) by lra. destruct (Rle_or_lt 0 (e2 * G2)); [assumption|]. nra. }
  assert (Y : e2 * G2 <= T2 * (e2 * G2)) by nra.
  assert (Z : 0 <= eta M * mu * rb * Delta M) by (repeat apply Rmult_le_pos; lra).
  assert (W : 0 <= e2 * (6 * rb * L * Gamma P)) by (repeat apply Rmult_le_pos; lra).
  assert (Q : 0 <= e2 * s2) by (apply Rmult_le_pos; lra).
  lra.
Qed.
