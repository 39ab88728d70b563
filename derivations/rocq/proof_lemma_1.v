From Coq Require Import Reals Lra Lia.
Require Import Space Model Facts.
Open Scope R_scope.

Definition statement : Prop := forall (P : Problem) (M : Step P) (L : R),
  setting M -> 0 < L -> smooth (P := P) L -> forall c k i, seen M c k -> (i < N P)%nat ->
  norm_sq (grad P i (x M c k i)) <= 2 * L * excess i (x M c k i).

Theorem proof : statement.
Proof. intros P M L ok HL Hs c k i _ Hi. apply (gradient_gap M ok); assumption. Qed.
