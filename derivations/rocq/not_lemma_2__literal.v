From Coq Require Import Reals Lra Lia.
Require Import Space Model statement_lemma_2__literal Witness.
Open Scope R_scope.

(* counterexamples/lemma-2.json: the drift was made by a step 25 times larger than the one that is to bound it. *)
Theorem proof : ~ statement_lemma_2__literal.statement.
Proof.
  intros H.
  pose (c := fun _ : nat => 1). pose (m := two 1 (-1)). pose (q := fun _ : nat => 1 / 2).
  specialize (H (clients c m q 0) (step c m q q 0 0 (1 / 100) (1 / 4) 1) 1 2%nat).
  assert (H0 : setting (step c m q q 0 0 (1 / 100) (1 / 4) 1)) by (apply step_setting; unfold c, q, m, two; lra).
  specialize (H H0 ltac:(lra)). 
  assert (G : bounded_gradient (step c m q q 0 0 (1 / 100) (1 / 4) 1) 1) by (unfold c, m, q; numbers).
  specialize (H G ltac:(numbers)). unfold c, m, q in H. numbers.
Qed.
