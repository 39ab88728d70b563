From Coq Require Import Reals Lra Lia.
Require Import Space Model statement_theorem_1__sync Witness.
Open Scope R_scope.

(* counterexamples/theorem-1-sync.json: rho_bar is 2000 at the start and near 9 one step later. *)
Theorem proof : ~ statement_theorem_1__sync.statement.
Proof.
  intros H. pose (c := fun _ : nat => 1). pose (m := two 0 1). pose (q := two (1999 / 2000) (1 / 2000)). pose (a := two 0 1).
  pose (M := step c m q a (1 / 2000) 0 (1 / 5) (1 / 4) 1).
  assert (H0 : setting M) by (apply step_setting; unfold c, q, m, a, two; lra).
  assert (Hs : smooth (clients c m q (1 / 2000)) 1) by (apply clients_smooth; unfold c, two; lra).
  assert (Hc : strongly_convex (clients c m q (1 / 2000)) 1) by (apply clients_convex; unfold c, two; lra).
  assert (G : bounded_gradient M 1) by (unfold M, c, m, q, a; numbers).
  specialize (H _ M 1 1 1 2000 1999 0 2%nat H0 ltac:(lra) ltac:(lra) ltac:(lra) ltac:(lra) ltac:(lra) ltac:(lra) ltac:(lra) G Hs Hc).
  unfold M, c, m, q, a in H. specialize (H ltac:(numbers) ltac:(numbers) ltac:(numbers) ltac:(numbers)). numbers.
Qed.
