From Coq Require Import Reals Lra Lia.
Require Import Space Model statement_error_free_step Facts proof_theorem_1.
Open Scope R_scope.

(* The case Gamma = 0 of Theorem 1: no excess is left at w_star, so any rho_tilde will do. *)
Theorem proof : statement_error_free_step.statement.
Proof.
  intros P M G2 L r mu rb s2 tau ok HG0 HL0 Hr0 Hmu Hrb Hs2 HL Hg Hsmall Hr4 HG Hs Hslow Hc Hr Hv Htau.
  assert (Ht : star_skew_at_most M 0).
  { destruct (ok) as (Hp & Hpos & _ & Hw & _). intros c C. rewrite Hg, Rmult_0_l.
    assert (Z : forall i, (i < N P)%nat -> excess P i (w_star P) = 0).
    { intros i Hi. pose proof (excess_nonneg M ok i (w_star P) Hi) as E. destruct (Rle_lt_or_eq_dec _ _ E) as [Q|Q]; [exfalso|auto].
      assert (0 < Gamma P); [|lra]. unfold Gamma, mean.
      apply Rlt_le_trans with (p P i * excess P i (w_star P)); [apply Rmult_lt_0_compat; auto|].
      assert (K : forall n f, (forall j, (j < n)%nat -> 0 <= f j) -> (i < n)%nat -> f i <= sum n f).
      { clear. induction n as [|n IH]; intros f Hf Hi; [lia|]. simpl. destruct (Nat.eq_dec i n) as [e|e].
        - subst. assert (0 <= sum n f) by (rewrite <- (sum_zero n); apply sum_le; auto). lra.
        - assert (f i <= sum n f) by (apply IH; [auto|lia]). assert (0 <= f n) by auto. lra. }
      apply (K (N P) (fun j => p P j * excess P j (w_star P))); [|assumption].
      intros j Hj. apply Rmult_le_pos; [apply Rlt_le; auto|]. apply (excess_nonneg M ok); assumption. }
    rewrite (mean_ext _ _ _ (fun _ => 0)) by auto. rewrite (mean_const _ _ _ (proj1 (Hw c C))). lra. }
  pose proof (proof_theorem_1.proof P M G2 L r mu rb 0 s2 tau ok HG0 HL0 Hr0 Hmu Hrb (Rle_refl 0) Hs2 HL Hsmall Hr4 HG Hs Hslow Hc Hr Ht Hv Htau) as T.
  rewrite Hg in T. lra.
Qed.
