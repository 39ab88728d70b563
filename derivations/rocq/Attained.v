(* What a negation assumes beside the statement: each constant is the extreme that the paper defines it to be, and the
   step is one that Algorithm 1 takes in its first round, after full gradients. *)
From Coq Require Import Reals.
Require Import Space Model.
Open Scope R_scope.

Definition least (bounds : R -> Prop) (x : R) : Prop := bounds x /\ forall y, bounds y -> x <= y.
Definition greatest (bounds : R -> Prop) (x : R) : Prop := bounds x /\ forall y, bounds y -> y <= x.

Section Of_the_step.
Context {P : Problem} (M : Step P).
Definition local (c k s i : nat) : V P :=
  sub (begin M c) (vsum s (fun r => scale (before M r) (past M c k r i))).
Definition first_round : Prop := H M = 1%nat /\
  forall c k s i, seen M c k -> (s < taken M)%nat -> (i < N P)%nat ->
    0 < before M s /\ past M c k s i = grad P i (local c k s i).
Definition possible : Prop := forall c k, seen M c k ->
  0 < luck M c k /\ forall s, (s < S M c k)%nat -> 0 < odds M c k s.
(* No skew is the 1 that stands by convention where all gaps vanish. *)
Definition gaps_now : Prop := forall c k, seen M c k ->
  0 < mean (N P) (p P) (fun i => excess P i (w M c k)).
Definition gaps_at_start : Prop := forall c, (c < H M)%nat ->
  0 < mean (N P) (p P) (fun i => excess P i (begin M c)).
End Of_the_step.
