From Coq Require Import Reals Lra Lia.
Require Import Space Model Attained statement_error_free_step__literal Witness.
Open Scope R_scope.

(* counterexamples/error-free-step-literal.json: the aggregation falls back on the slower client. *)
Theorem proof : ~ statement_error_free_step__literal.statement.
Proof.
  intros R. pose (c := two 4 1). pose (m := fun _ : nat => 0). pose (q := two (9 / 10) (1 / 10)). pose (a := two 0 1).
  pose (M := step c m q a 0 1 (1 / 1000) (1 / 1000) 1).
  assert (S0 : setting M) by (apply step_setting; unfold c, q, m, a, two; lra).
  assert (F : first_round M) by (apply step_first; [lia|lra]).
  assert (Ls : least (fun L => smooth (clients c m q 0) L) 4) by (apply (clients_least _ _ _ _ _ 0); unfold c, two; lra || lia).
  assert (ms : greatest (fun mu => strongly_convex (clients c m q 0) mu) 1)
    by (apply (clients_greatest _ _ _ _ _ 1); unfold c, two; lra || lia).
  assert (G : least (fun G_sq => bounded_gradient M G_sq) 16) by (unfold M, c, m, q, a; attained_gradient 0%nat).
  assert (B : greatest (fun rho_bar => skew_at_start M rho_bar) (10 / 37)) by (unfold M, c, m, q, a; attained_start).
  assert (V0 : least (fun sigma_sq => bounded_variance M sigma_sq) 0) by (unfold M, c, m, q, a; attained_variance).
  assert (Z : Gamma (clients c m q 0) = 0) by (unfold c, m, q; numbers).
  specialize (R _ M 16 4 1 (10 / 37) 0 2%nat S0 ltac:(lra) ltac:(lra) ltac:(lra) ltac:(lra) ltac:(lra) ltac:(lra) Z
    F (step_possible _ _ _ _ _ _ _ _ _) G Ls ms B V0).
  unfold M, c, m, q, a in R. specialize (R ltac:(numbers) ltac:(numbers)). numbers.
Qed.
