(* Algorithm 1 with full gradients on federated quadratics in fractions: it recomputes the counterexamples.
   F_i(w) = floor_i + sum_k c_ik (w_k - m_ik)^2 / 2. *)
From Coq Require Export QArith Qround Qminmax List Arith Bool.
Export ListNotations.
Open Scope Q_scope.

Definition point := list Q.
Inductive Weighting := FedAvg | FedMax (k : nat) | Fixed (rows : list point).
Record Instance := {
  curvatures : list point; minima : list point; p : list Q; floor : list Q;
  w0 : point; eta : list Q; tau : nat; weighting : Weighting; L : Q; mu : Q
}.

Definition total (l : list Q) : Q := fold_right (fun x s => Qred (x + s)) 0 l.
Definition zip {A B C} (f : A -> B -> C) (a : list A) (b : list B) : list C := map (fun '(x, y) => f x y) (combine a b).
Definition dot (a b : list Q) : Q := total (zip Qmult a b).
Definition least (l : list Q) : Q := fold_right Qmin (hd 0 l) l.
Definition most (l : list Q) : Q := fold_right Qmax (hd 0 l) l.
Definition quotient (a b : Q) (otherwise : Q) : Q := if Qeq_bool b 0 then otherwise else Qred (a / b).
Definition plus (x y : point) : point := zip (fun a b => Qred (a + b)) x y.
Definition times (a : Q) (x : point) : point := map (fun y => Qred (a * y)) x.
Definition minus (x y : point) : point := plus x (times (-1) y).
Definition norm_sq (x : point) : Q := dot x x.
Definition centre (a : list Q) (X : list point) : point :=
  fold_right plus (map (fun _ => 0) (hd [] X)) (zip times a X).
Definition number (n : nat) : Q := inject_Z (Z.of_nat n).
(* 1/k on the k largest scores; those tied at the k-th place share what is left. *)
Definition largest (k : nat) (scores : list Q) : list Q :=
  map (fun s =>
    let above := length (filter (fun x => negb (Qle_bool x s)) scores) in
    let least := length (filter (fun x => Qle_bool s x) scores) in
    (if (least <=? k)%nat then 1
     else if (above <? k)%nat then number (k - above) / number (least - above) else 0) / number k) scores.

Section Of_the_instance.
Variable I : Instance.
Definition gap_of (c m x : point) : Q := total (zip Qmult c (zip Qmult (minus x m) (minus x m))) / 2.
Definition excess (x : point) : list Q := zip (fun c m => gap_of c m x) (curvatures I) (minima I).
Definition losses (x : point) : list Q := zip Qplus (excess x) (floor I).
Definition slopes (x : point) : list point := zip (fun c m => zip Qmult c (minus x m)) (curvatures I) (minima I).
Definition own_slopes (X : list point) : list point :=
  zip (fun '(c, m) x => zip Qmult c (minus x m)) (combine (curvatures I) (minima I)) X.
Definition descend (e : Q) (X : list point) : list point := zip (fun x g => minus x (times e g)) X (own_slopes X).
Definition w_star : point :=
  let weighted := centre (p I) (zip (zip Qmult) (curvatures I) (minima I)) in
  zip (fun a b => Qred (a / b)) weighted (centre (p I) (curvatures I)).
Definition alpha_of (round : nat) (x : point) : list Q :=
  match weighting I with
  | FedAvg => p I
  | FedMax k => largest k (excess x)
  | Fixed rows => nth (Nat.min round (length rows - 1)) rows []
  end.

(* What a time of the run shows: whether a round starts, the local models, the round's weights, the step size. *)
Record Moment := { starts : bool; models : list point; alpha : list Q; size : Q }.
Definition everywhere (x : point) : list point := map (fun _ => x) (p I).
Fixpoint run (steps : list Q) (t : nat) (a : list Q) (X : list point) : list Moment :=
  let x := centre a X in
  match steps with
  | [] => [{| starts := true; models := everywhere x; alpha := p I; size := 0 |}]
  | e :: rest =>
      let start := (t mod tau I =? 0)%nat in
      let a := if start then alpha_of (t / tau I) x else a in
      let X := if start then everywhere x else X in
      {| starts := start; models := X; alpha := a; size := e |} :: run rest (S t) a (descend e X)
  end.
Definition moments : list Moment := run (eta I) 0 (p I) (everywhere (w0 I)).
Definition seen : list Moment := removelast moments.
Definition at_time (t : nat) : Moment := nth t moments {| starts := true; models := []; alpha := []; size := 0 |}.

(* The virtual iterate, weighted by alpha or by p, and what is measured of it. *)
Inductive Virtual := by_alpha | by_p.
Definition w (v : Virtual) (t : nat) : point :=
  let m := at_time t in centre (match v with by_alpha => alpha m | by_p => p I end) (models m).
Definition Delta (v : Virtual) (t : nat) : Q := norm_sq (minus (w v t) w_star).
Definition gap (v : Virtual) (t : nat) : Q := dot (p I) (excess (w v t)) - dot (p I) (excess w_star).
Definition drift (v : Virtual) (t : nat) : Q :=
  dot (alpha (at_time t)) (map (fun x => norm_sq (minus (w v t) x)) (models (at_time t))).

Definition star : list Q := excess w_star.
Definition Gamma : Q := dot (p I) star.
Definition ratios : list Q := flat_map (fun m => zip Qdiv (alpha m) (p I)) seen.
Definition pi_min : Q := least ratios.
Definition pi_max : Q := most ratios.
Definition skew (m : Moment) : Q :=
  let e := excess (centre (alpha m) (models m)) in quotient (dot (alpha m) e) (dot (p I) e) 1.
Definition rho_bar : Q := least (map skew seen).
Definition rho_bar_sync : Q := least (map skew (filter starts seen)).
Definition rho_tilde : Q :=
  if forallb (Qeq_bool 1) ratios then 1 else quotient (most (map (fun m => dot (alpha m) star) seen)) Gamma 1.
Definition G_sq : Q := most (flat_map (fun m => map norm_sq (own_slopes (models m))) seen).
Definition within : list Q :=  (* eta_s / eta_t for s <= t of one round *)
  let times := List.seq 0 (length (eta I)) in
  flat_map (fun t => map (fun s => nth s (eta I) 0 / nth t (eta I) 1)
    (filter (fun s => (s <=? t)%nat && (s / tau I =? t / tau I)%nat) times)) times.
Definition eta_ratio : Q := most within.
(* Every curvature lies between mu and L, so that each F_i is L-smooth and mu-strongly convex. *)
Definition in_class : Prop :=
  forallb (fun c => Qle_bool (mu I) c && Qle_bool c (L I)) (concat (curvatures I)) = true /\ 0 < mu I /\
  total (p I) == 1 /\ forallb (fun q => negb (Qle_bool q 0)) (p I) = true.
End Of_the_instance.

(* What single remarks speak of. *)
Definition under (I : Instance) (how : Weighting) : Instance :=
  {| curvatures := curvatures I; minima := minima I; p := p I; floor := floor I; w0 := w0 I; eta := eta I;
     tau := tau I; weighting := how; L := L I; mu := mu I |}.
Definition horizon (I : Instance) : nat := length (eta I).
Definition chosen (a : list Q) : Q := number (length (filter (fun x => negb (Qle_bool x 0)) a)).
Fixpoint inductive (step : Q -> Q -> Q) (Delta : Q) (gamma : Q) (t : nat) : Q :=
  match t with O => Delta | S k => step (number k + gamma) (inductive step Delta gamma k) end.
(* Equation (2): the step from t aggregates where tau divides t. *)
Definition late (I : Instance) : list point :=
  let a := alpha_of I 0 (w0 I) in
  fold_left (fun X '(t, e) => let X := descend I e X in
    if (t mod tau I =? 0)%nat then everywhere I (centre a X) else X)
    (combine (List.seq 0 (tau I)) (eta I)) (everywhere I (w0 I)).
Definition first_of (X : list point) (i : nat) : Q := hd 0 (nth i X []).
Fixpoint signs (s : list Q) : list (list Q) :=
  match s with [] => [[]] | x :: rest => flat_map (fun tail => [x :: tail; - x :: tail]) (signs rest) end.
(* E(A_2) where the weight goes to the largest gap after the step, so that it sees the step's noise. *)
Definition A_2 (I : Instance) (noise : list Q) : Q :=
  let e := hd 0 (eta I) in
  let slopes := map (hd 0) (slopes I (w0 I)) in
  let outcomes := signs noise in
  total (map (fun s =>
    let X := map (fun g => [hd 0 (w0 I) - e * g]) (zip Qplus slopes s) in
    let a := largest 1 (zip (fun '(c, m) x => gap_of c m x) (combine (curvatures I) (minima I)) X) in
    - (2 * e * (hd 0 (w0 I) - hd 0 (w_star I) - e * dot a slopes) * dot a s)) outcomes) / number (length outcomes).
Definition whole (e : list Q) : Prop := forallb (fun g => Qeq_bool g (inject_Z (Qfloor g))) e = true.
Definition softmax (p e : list Q) (x : Q) : list Q :=
  let raw := zip (fun q g => q * x ^ Qfloor g) p e in map (fun a => a / total raw) raw.

Ltac computed := unfold in_class, whole; repeat match goal with |- _ /\ _ => split end; vm_compute; first [reflexivity | discriminate].
