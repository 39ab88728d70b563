From Coq Require Import Reals Lra Lia.
Require Import Space Model statement_lemma_1 Facts.
Open Scope R_scope.

Theorem proof : statement_lemma_1.statement.
Proof. intros P M L ok HL Hs c k i _ Hi. apply (gradient_gap M ok); assumption. Qed.
