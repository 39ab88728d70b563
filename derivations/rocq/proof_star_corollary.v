From Coq Require Import Reals Lra Lia.
Require Import Space Model Horizon statement_star_corollary Facts Drift Recursion Along Ratios proof_star_step.
Open Scope R_scope.

Theorem proof : statement_star_corollary.statement.
Proof.
  intros P M T G2 L er mu pi rb rt s2 tau ok HG0 HL Her Hmu Hpi0 _ Hrt Hs2 HmuL Hrb Her4 Heta HG Hs Hslow Hc Hmin Hskew Hstar Hv.
  assert (Set_ : forall t, (t < T \/ t = 0)%nat -> setting (M t)) by (intros t Ht; apply (proj1 ok); lia).
  pose proof (Set_ 0%nat ltac:(lia)) as S0. pose proof (Gamma_nonneg (M 0%nat) S0) as Ga.
  pose proof (ratio_below_one (M 0%nat) S0 pi (Hmin 0%nat ltac:(lia))) as One.
  pose proof (Delta_nonneg (M 0%nat) S0) as D0. pose proof (offset_four L mu Hmu HmuL) as O. fold (offset L mu) in *.
  set (gm := offset L mu) in *. set (r := Rmin gm rb). set (R' := Rmax r rt).
  assert (r0 : 0 < r) by (unfold r; apply Rmin_glb_lt; lra).
  assert (r1 : r <= rb) by apply Rmin_r. assert (r2 : r <= gm) by apply Rmin_l.
  assert (R1 : r <= R') by apply Rmax_l. assert (R2 : rt <= R') by apply Rmax_r.
  (* the weights at w_star are between pi and rho_tilde times p, on average *)
  assert (Sk : 0 <= Gamma P * (R' - pi)).
  { assert (pi * Gamma P <= rt * Gamma P).
    { pose proof (some_start (M 0%nat) S0) as C. eapply Rle_trans; [|apply (Hstar 0%nat ltac:(lia) 0%nat C)].
      unfold Gamma, mean. rewrite <- sum_times. apply sum_le. intros i Hi. rewrite <- Rmult_assoc.
      apply Rmult_le_compat_r; [apply (excess_nonneg (M 0%nat) S0); assumption|]. apply (Hmin 0%nat ltac:(lia) 0%nat i C Hi). }
    assert (rt * Gamma P <= R' * Gamma P) by (apply Rmult_le_compat_r; assumption). lra. }
  assert (m2 : 0 < mu ^ 2) by (apply pow_lt; assumption).
  assert (im2 : 0 < / mu ^ 2) by (apply Rinv_0_lt_compat; assumption).
  set (N4 := 4 * G2 * (INR tau + -1) ^ 2 + 8 / 3 * Gamma P * L * (1 + -1 * pi) * (-1 * pi + R') + 4 / 3 * s2).
  set (n := N4 / mu ^ 2). set (v := Rmax (/ mu ^ 2 * N4 * / r) (gm * Delta (M 0%nat))).
  assert (V1 : gm * Delta (M 0%nat) <= v) by apply Rmax_r. assert (V2 : / mu ^ 2 * N4 * / r <= v) by apply Rmax_l.
  assert (V0 : 0 <= v) by (eapply Rle_trans; [|exact V1]; apply Rmult_le_pos; lra).
  assert (V3 : n <= r * v).
  { apply (Rmult_le_compat_l r) in V2; [|lra]. replace (r * (/ mu ^ 2 * N4 * / r)) with n in V2 by (unfold n; field; lra). exact V2. }
  set (d := 2 * Gamma P * (R' - r) / mu).
  assert (d0 : 0 <= d) by (unfold d; repeat apply Rmult_le_pos; try lra; apply Rlt_le, Rinv_0_lt_compat; assumption).
  set (rest := d / (1 + r)).
  assert (rest0 : 0 <= rest) by (apply Rmult_le_pos; [assumption|apply Rlt_le, Rinv_0_lt_compat; lra]).
  assert (B : Delta (M T) <= v / (INR T + gm) + rest).
  { apply (induct_kept (fun t => Delta (M t)) T gm r n v rest d); try assumption; [lra|unfold rest; field; lra|].
    intros t Ht. rewrite (next_of M T tau ok t Ht). pose proof (Set_ t (or_introl Ht)) as S.
    destruct (small_step M T L mu Hmu HmuL (fun u Hu => Heta u (or_introl Hu)) t Ht) as [E0 E1].
    pose proof (proof_star_step.proof P (M t) L mu pi r R' s2 S HL Hmu Hpi0 (Rlt_le _ _ r0) ltac:(lra) Hs2 HmuL ltac:(lra) Hs Hc
      (Hmin t (or_introl Ht)) (weaker_skew (M t) S r rb r1 (Hskew t (or_introl Ht)))
      (weaker_star (M t) S R' rt R2 (Hstar t (or_introl Ht))) (Hv t (or_introl Ht))) as A.
    destruct (ok) as (_ & _ & Hrun). destruct (Hrun t Ht) as (Hin & _). unfold in_round in Hin.
    pose proof (drift_bound (M t) S G2 er (tau - 1) (HG t (or_introl Ht)) (Rlt_le _ _ Her) (Hslow t (or_introl Ht)) ltac:(lia)) as D.
    rewrite minus_INR in D by lia. simpl (INR 1) in D.
    pose proof (drift_nonneg (M t) S) as Dn. pose proof (Delta_nonneg (M t) S) as Dt.
    pose proof (eta_schedule M T L mu Hmu HmuL (fun u Hu => Heta u (or_introl Hu)) t Ht) as Ee. fold gm in Ee.
    pose proof (pos_INR t) as Pt. set (k := INR t + gm) in *. assert (K0 : 0 < k) by (unfold k; lra).
    set (e := eta (M t)) in *. set (dr := drift (M t)) in *.
    assert (e2 : 0 <= e ^ 2) by apply pow2_ge_0. assert (em : 0 <= e * mu) by (apply Rmult_le_pos; lra).
    assert (eL : 0 <= e * L) by (apply Rmult_le_pos; lra). assert (emL : e * mu <= e * L) by (apply Rmult_le_compat_l; lra).
    assert (q2 : 0 <= (INR tau - 1) ^ 2) by apply pow2_ge_0.
    assert (Dr : dr <= 16 * e ^ 2 * (INR tau - 1) ^ 2 * G2).
    { assert (er ^ 2 <= 4 ^ 2) by (apply pow_incr; lra).
      assert (0 <= e ^ 2 * (INR tau - 1) ^ 2 * G2) by (apply Rmult_le_pos; [apply Rmult_le_pos|]; assumption).
      assert (er ^ 2 * (e ^ 2 * (INR tau - 1) ^ 2 * G2) <= 4 ^ 2 * (e ^ 2 * (INR tau - 1) ^ 2 * G2)) by (apply Rmult_le_compat_r; assumption). lra. }
    assert (Dr2 : e * (L - mu) * dr <= 4 * e ^ 2 * (INR tau - 1) ^ 2 * G2).
    { assert (e * (L - mu) * dr <= 1 / 4 * dr) by (apply Rmult_le_compat_r; [assumption|lra]). lra. }
    assert (He : 2 * Gamma P * L * e ^ 2 * (1 + -1 * pi) * (-1 * pi + R') * / (-1 * L * e + 1)
        <= e ^ 2 * (8 / 3 * Gamma P * L * (1 + -1 * pi) * (-1 * pi + R'))).
    { assert (X : 0 <= e ^ 2 * L * (1 - pi) * (Gamma P * (R' - pi))).
      { apply Rmult_le_pos; [apply Rmult_le_pos; [apply Rmult_le_pos|]|]; lra. }
      assert (Y : / (-1 * L * e + 1) <= 4 / 3).
      { apply (Rmult_le_reg_l (-1 * L * e + 1)); [lra|]. rewrite Rinv_r by lra. lra. }
      apply (Rmult_le_compat_l (2 * (e ^ 2 * L * (1 - pi) * (Gamma P * (R' - pi))))) in Y; [|lra]. lra. }
    assert (Kept : 3 / 4 <= 1 - e * mu) by lra.
    assert (Sg : e ^ 2 * s2 <= (1 - e * mu) * (e ^ 2 * (4 / 3 * s2))).
    { assert (0 <= e ^ 2 * s2) by (apply Rmult_le_pos; assumption).
      assert (3 / 4 * (e ^ 2 * (4 / 3 * s2)) <= (1 - e * mu) * (e ^ 2 * (4 / 3 * s2))) by (apply Rmult_le_compat_r; lra). lra. }
    assert (All : (1 - e * mu) * (e * (L - mu) * dr + 2 * Gamma P * L * e ^ 2 * (1 + -1 * pi) * (-1 * pi + R') * / (-1 * L * e + 1))
      <= (1 - e * mu) * (4 * e ^ 2 * (INR tau - 1) ^ 2 * G2 + e ^ 2 * (8 / 3 * Gamma P * L * (1 + -1 * pi) * (-1 * pi + R')))) by (apply Rmult_le_compat_l; lra).
    eapply Rle_trans with ((1 - e * mu) * ((1 - e * mu * r) * Delta (M t) + e ^ 2 * N4 + 2 * e * Gamma P * (R' - r))).
    - unfold N4. replace ((INR tau + -1) ^ 2) with ((INR tau - 1) ^ 2) by (f_equal; ring). lra.
    - right. rewrite Ee. unfold n, d. field. lra. }
  eapply Rle_trans; [apply (at_the_end M T tau ok L Hs HL)|].
  apply (Rmult_le_compat_l (L / 2)) in B; [|lra]. eapply Rle_trans; [exact B|]. right.
  replace (4 * Delta (M 0%nat) * L * / mu) with (gm * Delta (M 0%nat)) by (unfold gm, offset; ring). fold r R'. fold N4. fold v.
  unfold rest, d. rewrite (Rplus_comm gm). field. pose proof (pos_INR T). lra.
Qed.
