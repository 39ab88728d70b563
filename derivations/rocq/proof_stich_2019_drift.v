From Coq Require Import Reals Lra Lia.
Require Import Space Model statement_stich_2019_drift Facts Drift.
Open Scope R_scope.

Theorem proof : statement_stich_2019_drift.statement.
Proof.
  intros P M G2 r pmax pmin tau ok HG0 Hr _ _ _ _ Hr2 HG Hs _ _ Ht.
  pose proof (drift_bound M ok G2 r tau HG (Rlt_le _ _ Hr) Hs (Nat.lt_le_incl _ _ Ht)) as B.
  assert (r ^ 2 <= 4) by nra.
  assert (0 <= (eta M) ^ 2 * (INR tau) ^ 2 * G2) by (apply Rmult_le_pos; [apply Rmult_le_pos; apply pow2_ge_0|assumption]).
  nra.
Qed.
