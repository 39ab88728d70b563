From Coq Require Import Reals Lra Lia.
Require Import Space Model Attained statement_theorem_1__sync Witness.
Open Scope R_scope.

(* counterexamples/theorem-1-sync.json: rho_bar is 2000 at the start and near 9 one step later. *)
Theorem proof : ~ statement_theorem_1__sync.statement.
Proof.
  intros R. pose (c := fun _ : nat => 1). pose (m := two 0 1). pose (q := two (1999 / 2000) (1 / 2000)). pose (a := two 0 1).
  pose (M := step c m q a (1 / 2000) 0 (1 / 5) (1 / 4) 1).
  assert (S0 : setting M) by (apply step_setting; unfold c, q, m, a, two; lra).
  assert (F : first_round M) by (apply step_first; [lia|lra]).
  assert (Ls : least (fun L => smooth (clients c m q (1 / 2000)) L) 1) by (apply (clients_least _ _ _ _ _ 0); unfold c, two; lra || lia).
  assert (ms : greatest (fun mu => strongly_convex (clients c m q (1 / 2000)) mu) 1)
    by (apply (clients_greatest _ _ _ _ _ 0); unfold c, two; lra || lia).
  assert (G : least (fun G_sq => bounded_gradient M G_sq) 1) by (unfold M, c, m, q, a; attained_gradient 1%nat).
  assert (B : greatest (fun rho_bar => skew_at_start M rho_bar) 2000) by (unfold M, c, m, q, a; attained_start).
  assert (T : least (fun rho_tilde => star_skew_at_most M rho_tilde) 1999) by (unfold M, c, m, q, a; attained_start).
  assert (V0 : least (fun sigma_sq => bounded_variance M sigma_sq) 0) by (unfold M, c, m, q, a; attained_variance).
  specialize (R _ M 1 1 1 2000 1999 0 2%nat S0 ltac:(lra) ltac:(lra) ltac:(lra) ltac:(lra) ltac:(lra) ltac:(lra) ltac:(lra)
    F (step_possible _ _ _ _ _ _ _ _ _) G Ls ms B T V0).
  unfold M, c, m, q, a in R. specialize (R ltac:(numbers) ltac:(numbers) ltac:(numbers)). numbers.
Qed.
