From Coq Require Import Reals Lra Lia.
Require Import Space Model Attained statement_lemma_2__literal Witness.
Open Scope R_scope.

(* counterexamples/lemma-2.json: the drift was made by a step 25 times larger than the one that is to bound it. *)
Theorem proof : ~ statement_lemma_2__literal.statement.
Proof.
  intros R.
  pose (c := fun _ : nat => 1). pose (m := two 1 (-1)). pose (q := fun _ : nat => 1 / 2).
  pose (M := step c m q q 0 0 (1 / 100) (1 / 4) 1).
  assert (S0 : setting M) by (apply step_setting; unfold c, q, m, two; lra).
  assert (F : first_round M) by (apply step_first; [lia|lra]).
  assert (G : least (fun G_sq => bounded_gradient M G_sq) 1) by (unfold M, c, m, q; attained_gradient 0%nat).
  specialize (R _ M 1 2%nat S0 ltac:(lra) F (step_possible _ _ _ _ _ _ _ _ _) G).
  unfold M, c, m, q in R. specialize (R ltac:(numbers)). numbers.
Qed.
