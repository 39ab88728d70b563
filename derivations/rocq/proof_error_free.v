From Coq Require Import Reals Lra Lia.
Require Import Space Model Horizon statement_error_free Facts Recursion proof_corollary.
Open Scope R_scope.

Theorem proof : statement_error_free.statement.
Proof.
  intros P M T G2 L mu rb s2 tau ok HG0 HL Hmu Hrb0 Hs2 HmuL Hrb Hg Heta HG Hs Hc Hskew Hv.
  pose proof (proof_corollary.proof P M T G2 L mu rb 0 s2 tau ok HG0 HL Hmu Hrb0 (Rle_refl 0) Hs2 HmuL Hrb Heta HG Hs Hc Hskew
    (fun t Ht => star_skew_free (M t) (proj1 ok t ltac:(lia)) Hg) Hv) as A. rewrite Hg in A. lra.
Qed.
