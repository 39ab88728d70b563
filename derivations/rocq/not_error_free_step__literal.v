From Coq Require Import Reals Lra Lia.
Require Import Space Model statement_error_free_step__literal Witness.
Open Scope R_scope.

(* counterexamples/error-free-step-literal.json: the aggregation falls back on the slower client. *)
Theorem proof : ~ statement_error_free_step__literal.statement.
Proof.
  intros H. pose (c := two 4 1). pose (m := fun _ : nat => 0). pose (q := two (9 / 10) (1 / 10)). pose (a := two 0 1).
  pose (M := step c m q a 0 1 (1 / 1000) (1 / 1000) 1).
  assert (H0 : setting M) by (apply step_setting; unfold c, q, m, a, two; lra).
  assert (Hs : smooth (clients c m q 0) 4) by (apply clients_smooth; unfold c, two; lra).
  assert (Hc : strongly_convex (clients c m q 0) 1) by (apply clients_convex; unfold c, two; lra).
  assert (Gm : Gamma (clients c m q 0) = 0) by (unfold c, m, q; numbers).
  assert (G : bounded_gradient M 16) by (unfold M, c, m, q, a; numbers).
  specialize (H _ M 16 4 1 (10 / 37) 0 2%nat H0 ltac:(lra) ltac:(lra) ltac:(lra) ltac:(lra) ltac:(lra) ltac:(lra) Gm G Hs Hc).
  unfold M, c, m, q, a in H. specialize (H ltac:(numbers) ltac:(numbers) ltac:(numbers)). numbers.
Qed.
