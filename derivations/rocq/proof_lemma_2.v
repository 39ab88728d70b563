From Coq Require Import Reals Lra Lia.
Require Import Space Model statement_lemma_2 Facts Drift.
Open Scope R_scope.

Theorem proof : statement_lemma_2.statement.
Proof.
  intros P M G2 r tau ok HG0 Hr Hr4 HG Hs Ht. pose proof (drift_bound M ok G2 r tau HG (Rlt_le _ _ Hr) Hs (Nat.lt_le_incl _ _ Ht)) as B.
  assert (r ^ 2 <= 16) by nra.
  assert (0 <= (eta M) ^ 2 * (INR tau) ^ 2 * G2) by (apply Rmult_le_pos; [apply Rmult_le_pos; apply pow2_ge_0|assumption]).
  nra.
Qed.
