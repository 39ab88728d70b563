(* What statements about whole rounds, means of iterates and merely convex losses speak of. *)
From Coq Require Import Reals Arith.
Require Import Space Model Horizon.
Open Scope R_scope.

(* Rounds of tau local steps, the first from the start of the run. *)
Definition rounds {P : Problem} (M : nat -> Step P) (T tau : nat) : Prop :=
  forall t, (t < T)%nat -> taken (M t) = Nat.modulo t tau.

(* The iterates w_0 ... w_{T-1} of a run over common outcomes, each with the law that its step starts from, and the
   expected gap of their mean. *)
Definition loss (P : Problem) (v : V P) : R := mean (N P) (p P) (fun i => F P i v).
Definition path {P : Problem} (M : nat -> Step P) (T n : nat) (odds : nat -> R) (W : nat -> nat -> V P) : Prop :=
  weights n odds /\ forall t (f : V P -> R), (t < T)%nat ->
  mean n odds (fun o => f (W t o)) = expected (M t) (fun c k => f (w (M t) c k)).
Definition gap_of_mean {P : Problem} (T n : nat) (odds : nat -> R) (W : nat -> nat -> V P) : R :=
  mean n odds (fun o => loss P (scale (/ INR T) (vsum T (fun t => W t o)))) - loss P (w_star P).

(* The same of their mean with weights a; the expected least of what is measured at each of them. *)
Definition gap_of_weighted {P : Problem} (T n : nat) (odds : nat -> R) (W : nat -> nat -> V P) (a : nat -> R) : R :=
  mean n odds (fun o => loss P (scale (/ sum T a) (vsum T (fun t => scale (a t) (W t o))))) - loss P (w_star P).
Fixpoint least (n : nat) (f : nat -> R) : R := match n with O => f O | Datatypes.S k => Rmin (least k f) (f k) end.
Definition least_of {P : Problem} (T n : nat) (odds : nat -> R) (W : nat -> nat -> V P) (f : V P -> R) : R :=
  mean n odds (fun o => least T (fun t => f (W t o))).

(* Losses that are smooth and need not be convex lie within L/2 times the square of the way below their tangents too;
   those of the mean are dominated by its gradient, and the noise may grow with a client's. *)
Definition smooth_below (P : Problem) (L : R) : Prop := forall i u v, (i < N P)%nat ->
  F P i u + ip (grad P i u) (sub v u) - L / 2 * norm_sq (sub v u) <= F P i v.
Definition dominated (P : Problem) (mu : R) : Prop := forall v,
  2 * mu * (loss P v - loss P (w_star P)) <= norm_sq (centre (N P) (p P) (fun i => grad P i v)).
Definition growing_variance {P : Problem} (M : Step P) (sigma_0_sq growth : R) : Prop := forall c k i,
  seen M c k -> (i < N P)%nat ->
  given_past M c k (fun s => norm_sq (xi M c k s i)) <= sigma_0_sq + growth * norm_sq (grad P i (x M c k i)).

(* A bound on how far the clients' gradients at the model are from their mean. *)
Definition dissimilar {P : Problem} (M : Step P) (zeta_sq : R) : Prop := forall c k, seen M c k ->
  mean (N P) (p P) (fun i => norm_sq (sub (grad P i (w M c k)) (centre (N P) (p P) (fun j => grad P j (w M c k))))) <= zeta_sq.

(* The setting of clients that need have no minimisers of their own; a run of steps in any setting, as Horizon has it. *)
Definition convex_setting {P : Problem} (M : Step P) : Prop :=
  weights (N P) (p P) /\ (forall i, (i < N P)%nat -> 0 < p P i) /\ weights (H M) (chance M) /\
  (forall c, (c < H M)%nat -> weights (N P) (alpha M c) /\ weights (K M c) (luck M c)) /\
  (forall c k, seen M c k -> weights (S M c k) (odds M c k)) /\
  (forall c k i y, seen M c k -> (i < N P)%nat -> given_past M c k (fun s => ip (xi M c k s i) y) = 0) /\
  (forall v, mean (N P) (p P) (fun i => F P i (w_star P)) <= mean (N P) (p P) (fun i => F P i v)) /\
  0 < eta M.
Definition run_in {P : Problem} (good : Step P -> Prop) (M : nat -> Step P) (T tau : nat) : Prop :=
  (forall t, (t <= T)%nat -> good (M t)) /\
  (forall t, (t < T)%nat -> follows (M t) (M (Datatypes.S t))) /\
  (forall t, (t < T)%nat -> in_round (M t) tau /\ (taken (M t) <= t)%nat /\
     (forall s, (s < taken (M t))%nat -> before (M t) s = eta (M (t - taken (M t) + s)%nat)) /\
     (forall c i y, (c < H (M t))%nat -> (i < N P)%nat -> (0 < taken (M t))%nat ->
        since_start (M t) c (fun k => ip (past (M t) c k 0 i) y) = ip (grad P i (begin (M t) c)) y)).
Definition convex_run {P : Problem} (M : nat -> Step P) (T tau : nat) : Prop := run_in convex_setting M T tau.
