From Coq Require Import Reals Lra Lia.
Require Import Space Model Horizon statement_final_bound Facts Recursion Ratios proof_ratio_bound.
Open Scope R_scope.

(* The bound in pi and Pi, at the largest Pi that pi and min p allow. *)
Theorem proof : statement_final_bound.statement.
Proof.
  intros P M T G2 L mu pm pi s2 tau ok HG0 HL Hmu Hpm Hpi0 Hs2 HmuL Hpi Hpm2 Heta HG Hs Hc Hp Hmin Hv.
  assert (Set_ : forall t, (t < T \/ t = 0)%nat -> setting (M t)) by (intros t Ht; apply (proj1 ok); lia).
  pose proof (Set_ 0%nat ltac:(lia)) as S0.
  pose proof (ratio_below_one (M 0%nat) S0 pi (Hmin 0%nat ltac:(lia))) as One.
  assert (i0 : 0 < / pm) by (apply Rinv_0_lt_compat; assumption).
  assert (Q : 0 <= (1 - pi) / pm) by (apply Rmult_le_pos; lra).
  pose proof (proof_ratio_bound.proof P M T G2 L mu pm ((1 - pi) / pm + pi) pi s2 tau ok HG0 HL Hmu Hpm ltac:(lra) Hpi0 Hs2 HmuL
    Hpi Hpm2 Heta HG Hs Hc Hp (fun t Ht => ratio_from_below (M t) (Set_ t Ht) pi pm Hpm Hp (Hmin t Ht)) Hmin Hv) as A.
  pose proof (clients_at_most (M 0%nat) S0 pm Hp) as Cl. pose proof (Gamma_nonneg (M 0%nat) S0) as Ga.
  assert (E : / pi * ((1 - pi) / pm + pi + -1 * pi) <= -1 * INR (N P) + / pm * / pi).
  { replace (/ pi * ((1 - pi) / pm + pi + -1 * pi)) with (/ pm * / pi - / pm) by (field; lra).
    assert (INR (N P) <= / pm); [|lra]. apply (Rmult_le_reg_r pm); [assumption|]. rewrite Rinv_l by lra. assumption. }
  assert (K : 0 <= 8 / 3 * Gamma P * L * / mu) by (repeat apply Rmult_le_pos; try lra; apply Rlt_le, Rinv_0_lt_compat; assumption).
  apply (Rmult_le_compat_l _ _ _ K) in E. lra.
Qed.
