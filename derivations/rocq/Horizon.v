(* What statements over a horizon speak of: a run of steps. *)
From Coq Require Import Reals.
Require Import Space Model.
Open Scope R_scope.

(* A run of T steps: each step starts from the law in which the one before left the model, uses the earlier steps'
   sizes, and the first gradients of its round were unbiased at the global model. *)
Definition follows {P : Problem} (M M' : Step P) : Prop := forall f : V P -> R,
  expected M' (fun c k => f (w M' c k)) = expected M (fun c k => given_past M c k (fun s => f (w_next M c k s))).
Definition run {P : Problem} (M : nat -> Step P) (T tau : nat) : Prop :=
  (forall t, (t <= T)%nat -> setting (M t)) /\
  (forall t, (t < T)%nat -> follows (M t) (M (Datatypes.S t))) /\
  (forall t, (t < T)%nat -> in_round (M t) tau /\ (taken (M t) <= t)%nat /\
     (forall s, (s < taken (M t))%nat -> before (M t) s = eta (M (t - taken (M t) + s)%nat)) /\
     (forall c i y, (c < H (M t))%nat -> (i < N P)%nat -> (0 < taken (M t))%nat ->
        since_start (M t) c (fun k => ip (past (M t) c k 0 i) y) = ip (grad P i (begin (M t) c)) y)).
