From Coq Require Import Reals Lra Lia.
Require Import Space Model statement_error_free_step Facts proof_theorem_1.
Open Scope R_scope.

(* The case Gamma = 0 of Theorem 1: no excess is left at w_star, so any rho_tilde will do. *)
Theorem proof : statement_error_free_step.statement.
Proof.
  intros P M G2 L r mu rb s2 tau ok HG0 HL0 Hr0 Hmu Hrb Hs2 HL Hg Hsmall Hr4 HG Hs Hslow Hc Hr Hv Htau.
  assert (Ht : star_skew_at_most M 0) by (apply (star_skew_free M ok); assumption).
  pose proof (proof_theorem_1.proof P M G2 L r mu rb 0 s2 tau ok HG0 HL0 Hr0 Hmu Hrb (Rle_refl 0) Hs2 HL Hsmall Hr4 HG Hs Hslow Hc Hr Ht Hv Htau) as T.
  rewrite Hg in T. lra.
Qed.
