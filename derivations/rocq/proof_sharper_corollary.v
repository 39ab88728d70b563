From Coq Require Import Reals Lra Lia.
Require Import Space Model Horizon statement_sharper_corollary Facts Recursion Along.
Open Scope R_scope.

Theorem proof : statement_sharper_corollary.statement.
Proof.
  intros P M T G2 L mu rb rt tau ok HG0 HL Hmu _ Hrt HmuL Hrb Heta HG Hs Hc Hskew Hstar.
  pose proof (proj1 ok 0%nat ltac:(lia)) as S0. pose proof (Gamma_nonneg (M 0%nat) S0) as Ga.
  pose proof (Delta_nonneg (M 0%nat) S0) as D0. pose proof (offset_four L mu Hmu HmuL) as O. fold (offset L mu) in *.
  set (gm := offset L mu) in *. set (r := Rmin (gm + -1) rb). set (R' := Rmax r rt).
  assert (r0 : 0 < r) by (unfold r; apply Rmin_glb_lt; lra).
  assert (r1 : r <= rb) by apply Rmin_r. assert (r2 : r <= gm + -1) by apply Rmin_l.
  assert (R1 : r <= R') by apply Rmax_l. assert (R2 : rt <= R') by apply Rmax_r.
  set (c := (1 + 4 * INR tau ^ 2) * G2 / mu ^ 2).
  assert (m2 : 0 < mu ^ 2) by (apply pow_lt; assumption).
  set (v := Rmax (gm * Delta (M 0%nat)) (c / r)).
  assert (V1 : gm * Delta (M 0%nat) <= v) by apply Rmax_l. assert (V2 : c / r <= v) by apply Rmax_r.
  assert (V0 : 0 <= v) by (eapply Rle_trans; [|exact V1]; apply Rmult_le_pos; lra).
  set (d := 2 * Gamma P * (R' - r) / mu).
  assert (d0 : 0 <= d) by (unfold d; repeat apply Rmult_le_pos; try lra; apply Rlt_le, Rinv_0_lt_compat; assumption).
  assert (E0 : d = (1 + r) * (d / (1 + r))) by (field; lra).
  pose proof (horizon M T tau ok L Hs HL gm (1 + r) c d v (d / (1 + r)) ltac:(lra) ltac:(lra) V0
    ltac:(apply Rmult_le_pos; [assumption|apply Rlt_le, Rinv_0_lt_compat; lra]) ltac:(lra) V1
    ltac:(replace (1 + r - 1) with r by ring; apply (Rmult_le_compat_l r) in V2; [replace (r * (c / r)) with c in V2 by (field; lra); exact V2|lra])
    (fun t Ht => sharper_along M T tau L mu G2 rb rt ok HG0 HL Hmu Hrt HmuL (fun u Hu => Heta u (or_introl Hu)) (fun u Hu => HG u (or_introl Hu)) Hs Hc
      (fun u Hu => Hskew u (or_introl Hu)) (fun u Hu => Hstar u (or_introl Hu)) r R' t Ht (Rlt_le _ _ r0) r1 R2)) as B.
  eapply Rle_trans; [exact B|]. right.
  replace (4 * Delta (M 0%nat) * L * / mu) with (gm * Delta (M 0%nat)) by (unfold gm, offset; ring).
  replace (G2 * / mu ^ 2 * (4 * INR tau ^ 2 + 1) * / r) with (c / r) by (unfold c; field; lra).
  fold v. unfold d. rewrite (Rplus_comm gm). field. pose proof (pos_INR T). lra.
Qed.
