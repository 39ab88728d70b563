From Coq Require Import Reals Lra Lia.
Require Import Space Model Horizon statement_corollary Facts Recursion Along.
Open Scope R_scope.

(* The sharper step implies Theorem 1's recursion, with neither slow decay nor small steps. *)
Theorem proof : statement_corollary.statement.
Proof.
  intros P M T G2 L mu rb rt s2 tau ok HG0 HL Hmu _ Hrt Hs2 HmuL Hrb Heta HG Hs Hc Hskew Hstar _.
  pose proof (proj1 ok 0%nat ltac:(lia)) as S0. pose proof (Gamma_nonneg (M 0%nat) S0) as Ga.
  pose proof (Delta_nonneg (M 0%nat) S0) as D0. pose proof (offset_four L mu Hmu HmuL) as O. fold (offset L mu) in *.
  set (gm := offset L mu) in *. set (r := Rmin (32 / 3 * L * / mu + - (8 / 3)) rb). set (R' := Rmax r rt).
  assert (Cap : 32 / 3 * L * / mu = 8 / 3 * gm) by (unfold gm, offset; lra).
  assert (r0 : 0 < r) by (unfold r; apply Rmin_glb_lt; lra).
  assert (r1 : r <= rb) by apply Rmin_r. assert (r2 : r <= 8 / 3 * gm + - (8 / 3)) by (rewrite <- Cap; apply Rmin_l).
  assert (R1 : r <= R') by apply Rmax_l. assert (R2 : rt <= R') by apply Rmax_r.
  set (c := (32 * G2 * INR tau ^ 2 + 6 * r * L * Gamma P + s2) / mu ^ 2).
  assert (m2 : 0 < mu ^ 2) by (apply pow_lt; assumption).
  assert (c0 : 0 <= c).
  { unfold c. apply Rmult_le_pos; [|apply Rlt_le, Rinv_0_lt_compat; assumption]. pose proof (pow2_ge_0 (INR tau)).
    assert (0 <= G2 * INR tau ^ 2) by (apply Rmult_le_pos; lra). assert (0 <= r * L * Gamma P) by (repeat apply Rmult_le_pos; lra). lra. }
  set (d := 2 * Gamma P * (R' - r) / mu).
  assert (d0 : 0 <= d) by (unfold d; repeat apply Rmult_le_pos; try lra; apply Rlt_le, Rinv_0_lt_compat; assumption).
  set (rest := d / (3 / 8 * r)). set (v := gm * Delta (M 0%nat) + c / (3 / 8 * r)).
  assert (i0 : 0 < / (3 / 8 * r)) by (apply Rinv_0_lt_compat; lra).
  assert (rest0 : 0 <= rest) by (apply Rmult_le_pos; lra).
  assert (c1 : 0 <= c / (3 / 8 * r)) by (apply Rmult_le_pos; lra).
  assert (v0 : gm * Delta (M 0%nat) <= v) by (unfold v; lra).
  assert (g0 : 0 <= gm * Delta (M 0%nat)) by (apply Rmult_le_pos; lra).
  assert (Ed : d = 3 / 8 * r * rest) by (unfold rest; field; lra).
  assert (Ec : c = 3 / 8 * r * (c / (3 / 8 * r))) by (field; lra).
  assert (p1 : 0 <= r * (gm * Delta (M 0%nat))) by (apply Rmult_le_pos; lra).
  pose proof (horizon M T tau ok L Hs HL gm (1 + 3 / 8 * r) c d v rest ltac:(lra) ltac:(lra) ltac:(lra) rest0 ltac:(lra) v0
    ltac:(unfold v; lra)) as B.
  eapply Rle_trans; [apply B|].
  - intros t Ht.
    pose proof (sharper_along M T tau L mu G2 rb rt ok HG0 HL Hmu Hrt HmuL (fun u Hu => Heta u (or_introl Hu))
      (fun u Hu => HG u (or_introl Hu)) Hs Hc (fun u Hu => Hskew u (or_introl Hu)) (fun u Hu => Hstar u (or_introl Hu))
      r R' t Ht (Rlt_le _ _ r0) r1 R2) as A. fold gm in A. fold d in A.
    destruct (ok) as (Hset & _ & Hrun). destruct (Hrun t Ht) as (Hin & _). pose proof (Delta_nonneg (M t) (Hset t ltac:(lia))) as Dt.
    pose proof (pos_INR t). set (k := INR t + gm) in *. assert (K0 : 0 < k) by (unfold k; lra).
    assert (K : 0 < / k) by (apply Rinv_0_lt_compat; lra).
    assert (U : 0 <= 5 / 8 * r * / k * Delta (M t)) by (repeat apply Rmult_le_pos; lra).
    assert (T1 : 1 <= INR tau) by (apply (le_INR 1); unfold in_round in Hin; lia).
    assert (T2 : 1 <= INR tau ^ 2) by (rewrite <- (pow1 2); apply pow_incr; lra).
    assert (C : (1 + 4 * INR tau ^ 2) * G2 / mu ^ 2 / k ^ 2 <= c / k ^ 2).
    { apply Rmult_le_compat_r; [apply Rlt_le, Rinv_0_lt_compat, pow_lt; lra|]. apply Rmult_le_compat_r; [apply Rlt_le, Rinv_0_lt_compat; assumption|].
      assert (0 <= r * L * Gamma P) by (repeat apply Rmult_le_pos; lra).
      assert ((1 + 4 * INR tau ^ 2) * G2 <= 32 * INR tau ^ 2 * G2) by (apply Rmult_le_compat_r; lra). lra. }
    unfold Rdiv in *. lra.
  - right. fold gm. unfold v, rest, c, d. rewrite (Rplus_comm (4 * L * / mu)). fold (offset L mu). fold gm.
    replace (2 * Delta (M 0%nat) * L ^ 2 * / mu) with (L / 2 * (gm * Delta (M 0%nat))) by (unfold gm, offset; field; lra).
    field. pose proof (pos_INR T). lra.
Qed.
