From Coq Require Import Reals Lra Lia.
Require Import Space Model Horizon statement_ratio_bound Facts Recursion Along Ratios proof_corollary.
Open Scope R_scope.

(* The corollary at rho_bar = pi and rho_tilde = Pi: the cap does not bind, since pi <= 1. *)
Theorem proof : statement_ratio_bound.statement.
Proof.
  intros P M T G2 L mu pm Pi pi s2 tau ok HG0 HL Hmu Hpm HPi Hpi0 Hs2 HmuL Hpi Hpm2 Heta HG Hs Hc Hp Hmax Hmin Hv.
  assert (Set_ : forall t, (t < T \/ t = 0)%nat -> setting (M t)) by (intros t Ht; apply (proj1 ok); lia).
  pose proof (ratio_below_one (M 0%nat) (Set_ 0%nat ltac:(lia)) pi (Hmin 0%nat ltac:(lia))) as One.
  pose proof (ratio_above_one (M 0%nat) (Set_ 0%nat ltac:(lia)) Pi (Hmax 0%nat ltac:(lia))) as Top.
  pose proof (proof_corollary.proof P M T G2 L mu pi Pi s2 tau ok HG0 HL Hmu Hpi0 HPi Hs2 HmuL Hpi Heta HG Hs Hc
    (fun t Ht => skew_of_ratio (M t) (Set_ t Ht) pi (Hmin t Ht)) (fun t Ht => star_of_ratio (M t) (Set_ t Ht) Pi (Hmax t Ht)) Hv) as A.
  pose proof (offset_four L mu Hmu HmuL) as O. unfold offset in O.
  rewrite (Rmin_right (32 / 3 * L * / mu + - (8 / 3)) pi) in A by lra. rewrite (Rmax_right pi Pi) in A by lra.
  eapply Rle_trans; [exact A|]. right. field. pose proof (pos_INR T).
  assert (0 <= mu * INR T) by (apply Rmult_le_pos; lra). repeat split; lra.
Qed.
