(* What the statements speak of: N clients, and one local step of Algorithm 1 seen from every history. *)
From Coq Require Import Reals.
Require Import Space.
Open Scope R_scope.

Record Problem := {
  V : Space; N : nat; p : nat -> R;                     (* clients 0 ... N-1 and their weights *)
  F : nat -> V -> R; grad : nat -> V -> V;              (* objectives and gradients *)
  w_star : V; w_i_star : nat -> V                       (* minimisers of sum p_i F_i and of F_i *)
}.

Record Step (P : Problem) := {
  H : nat; chance : nat -> R;                           (* how the round may have started, with probabilities *)
  alpha : nat -> nat -> R; begin : nat -> V P;          (* by start: the round's weights, the global model *)
  taken : nat; before : nat -> R;                       (* local steps taken since, and their sizes *)
  K : nat -> nat; luck : nat -> nat -> R;               (* by start: outcomes of the noise since *)
  past : nat -> nat -> nat -> nat -> V P;               (* by start, outcome, step, client: the gradient it used *)
  S : nat -> nat -> nat; odds : nat -> nat -> nat -> R; (* by start and outcome: outcomes of this step's noise *)
  xi : nat -> nat -> nat -> nat -> V P;                 (* by start, outcome, outcome now, client: the noise *)
  eta : R
}.
Arguments H {_}. Arguments chance {_}. Arguments alpha {_}. Arguments begin {_}. Arguments taken {_}.
Arguments before {_}. Arguments K {_}. Arguments luck {_}. Arguments past {_}. Arguments S {_}.
Arguments odds {_}. Arguments xi {_}. Arguments eta {_}.

Section Of_the_problem.
Variable P : Problem.
Definition excess (i : nat) (v : V P) : R := F P i v - F P i (w_i_star P i).
Definition Gamma : R := mean (N P) (p P) (fun i => excess i (w_star P)).
Definition smooth (L : R) : Prop := forall i u v, (i < N P)%nat ->
  F P i v <= F P i u + ip (grad P i u) (sub v u) + L / 2 * norm_sq (sub v u).
Definition strongly_convex (mu : R) : Prop := forall i u v, (i < N P)%nat ->
  F P i u + ip (grad P i u) (sub v u) + mu / 2 * norm_sq (sub v u) <= F P i v.
End Of_the_problem.

Section Of_the_step.
Context {P : Problem} (M : Step P).
Definition since_start (c : nat) (f : nat -> R) : R := mean (K M c) (luck M c) f.
Definition expected (f : nat -> nat -> R) : R := mean (H M) (chance M) (fun c => since_start c (f c)).
Definition given_past (c k : nat) (f : nat -> R) : R := mean (S M c k) (odds M c k) f.
Definition x (c k i : nat) : V P := sub (begin M c) (vsum (taken M) (fun s => scale (before M s) (past M c k s i))).
Definition g (c k s i : nat) : V P := add (grad P i (x c k i)) (xi M c k s i).
Definition w (c k : nat) : V P := centre (N P) (alpha M c) (x c k).
Definition w_next (c k s : nat) : V P :=
  centre (N P) (alpha M c) (fun i => sub (x c k i) (scale (eta M) (g c k s i))).

Definition Delta : R := expected (fun c k => norm_sq (sub (w c k) (w_star P))).
Definition Delta_next : R :=
  expected (fun c k => given_past c k (fun s => norm_sq (sub (w_next c k s) (w_star P)))).
Definition drift : R :=
  expected (fun c k => mean (N P) (alpha M c) (fun i => norm_sq (sub (w c k) (x c k i)))).
Definition gap_t : R :=
  expected (fun c k => mean (N P) (p P) (fun i => F P i (w c k)) - mean (N P) (p P) (fun i => F P i (w_star P))).

(* The same of the iterate that the paper weights by p inside a round; tau steps end it with an aggregation. *)
Definition w_p (c k : nat) : V P := centre (N P) (p P) (x c k).
Definition w_next_p (tau c k s : nat) : V P :=
  if Nat.eqb (Datatypes.S (taken M)) tau then w_next c k s
  else centre (N P) (p P) (fun i => sub (x c k i) (scale (eta M) (g c k s i))).
Definition Delta_p : R := expected (fun c k => norm_sq (sub (w_p c k) (w_star P))).
Definition Delta_next_p (tau : nat) : R :=
  expected (fun c k => given_past c k (fun s => norm_sq (sub (w_next_p tau c k s) (w_star P)))).
Definition drift_p : R :=
  expected (fun c k => mean (N P) (alpha M c) (fun i => norm_sq (sub (w_p c k) (x c k i)))).

(* The setting, which every statement assumes: an outcome inside its range has the index bounds of `seen`. *)
Definition seen (c k : nat) : Prop := (c < H M)%nat /\ (k < K M c)%nat.
Definition setting : Prop :=
  weights (N P) (p P) /\ (forall i, (i < N P)%nat -> 0 < p P i) /\ weights (H M) (chance M) /\
  (forall c, (c < H M)%nat -> weights (N P) (alpha M c) /\ weights (K M c) (luck M c)) /\
  (forall c k, seen c k -> weights (S M c k) (odds M c k)) /\
  (forall c k i y, seen c k -> (i < N P)%nat -> given_past c k (fun s => ip (xi M c k s i) y) = 0) /\
  (forall i v, (i < N P)%nat -> F P i (w_i_star P i) <= F P i v) /\
  (forall v, mean (N P) (p P) (fun i => F P i (w_star P)) <= mean (N P) (p P) (fun i => F P i v)) /\
  0 < eta M.

(* What ties the constants of a statement to the step: bounds, so that nothing is divided by 0. *)
Definition bounded_variance (sigma_sq : R) : Prop := forall c k i, seen c k -> (i < N P)%nat ->
  given_past c k (fun s => norm_sq (xi M c k s i)) <= sigma_sq.
Definition bounded_gradient (G_sq : R) : Prop :=
  (forall c k i, seen c k -> (i < N P)%nat -> given_past c k (fun s => norm_sq (g c k s i)) <= G_sq) /\
  (forall c s i, (c < H M)%nat -> (s < taken M)%nat -> (i < N P)%nat ->
     since_start c (fun k => norm_sq (past M c k s i)) <= G_sq).
Definition steps_within (eta_ratio : R) : Prop :=
  forall s, (s < taken M)%nat -> 0 < before M s <= eta_ratio * eta M.
Definition in_round (tau : nat) : Prop := (taken M < tau)%nat.
Definition skew_at_least (rho_bar : R) : Prop := forall c k, seen c k ->
  rho_bar * mean (N P) (p P) (fun i => excess P i (w c k)) <= mean (N P) (alpha M c) (fun i => excess P i (w c k)).
Definition skew_at_start (rho_bar : R) : Prop := forall c, (c < H M)%nat ->
  rho_bar * mean (N P) (p P) (fun i => excess P i (begin M c)) <= mean (N P) (alpha M c) (fun i => excess P i (begin M c)).
Definition star_skew_at_most (rho_tilde : R) : Prop := forall c, (c < H M)%nat ->
  mean (N P) (alpha M c) (fun i => excess P i (w_star P)) <= rho_tilde * Gamma P.
Definition ratio_at_least (pi_min : R) : Prop := forall c i, (c < H M)%nat -> (i < N P)%nat ->
  pi_min * p P i <= alpha M c i.
Definition ratio_at_most (pi_max : R) : Prop := forall c i, (c < H M)%nat -> (i < N P)%nat ->
  alpha M c i <= pi_max * p P i.
End Of_the_step.
