From Coq Require Import Reals Lra Lia.
Require Import Space Model Facts Drift.
Open Scope R_scope.

Definition statement : Prop := forall (P : Problem) (M : Step P) (G_sq : R) (tau : nat),
  setting M -> in_round M tau -> bounded_gradient M G_sq -> slow_decay M ->
  drift M <= 16 * G_sq * (eta M) ^ 2 * (INR tau) ^ 2.

Theorem proof : statement.
Proof. intros P M G2 tau ok Ht HG Hs. pose proof (drift_bound M ok G2 tau HG Hs Ht). lra. Qed.
