(* One round of Algorithm 1 with full gradients, and certificates about its functions. *)
From Coq Require Import Reals Lra Lia ZArith List Bool.
Require Import Space Model Facts Certificate.
Import ListNotations.
Open Scope R_scope.

Section Of_a_round.
Context {P : Problem} (begin : V P) (eta : nat -> R).
(* Client i's model after k local steps from the global model, and the mean of these under weights a. *)
Fixpoint local (i k : nat) : V P :=
  match k with O => begin | Datatypes.S k => sub (local i k) (scale (eta k) (grad P i (local i k))) end.
Definition iterate (a : nat -> R) (k : nat) : V P := centre (N P) a (fun i => local i k).
Definition distance (a : nat -> R) (k : nat) : R := norm_sq (sub (iterate a k) (w_star P)).
Definition spread_of (alpha a : nat -> R) (k : nat) : R :=
  mean (N P) alpha (fun i => norm_sq (sub (local i k) (iterate a k))).
Definition skewed (rho_bar : R) (alpha : nat -> R) (v : V P) : Prop :=
  rho_bar * mean (N P) (p P) (fun i => excess P i v) <= mean (N P) alpha (fun i => excess P i v).
Definition minimal : Prop :=
  (forall i v, (i < N P)%nat -> F P i (w_i_star P i) <= F P i v) /\
  (forall v, mean (N P) (p P) (fun i => F P i (w_star P)) <= mean (N P) (p P) (fun i => F P i v)).
Lemma local_step i k y : ip (local i (Datatypes.S k)) y = ip (local i k) y - eta k * ip (grad P i (local i k)) y.
Proof. simpl. bilinear. ring. Qed.
Lemma local_start i y : ip (local i 0) y = ip begin y.
Proof. reflexivity. Qed.
End Of_a_round.

Lemma own_slope (P : Problem) L i u : minimal (P := P) -> smooth P L -> 0 <= L -> (i < N P)%nat -> ip (grad P i (w_i_star P i)) u = 0.
Proof.
  intros [Hm _] Hs HL Hi. apply (no_slope _ (L / 2 * norm_sq u)); [pose proof (ip_pos _ u); unfold norm_sq; nra|].
  intros t. pose proof (Hm i (add (w_i_star P i) (scale t u)) Hi) as A.
  pose proof (Hs i (w_i_star P i) (add (w_i_star P i) (scale t u)) Hi) as B.
  replace (ip (grad P i (w_i_star P i)) (sub (add (w_i_star P i) (scale t u)) (w_i_star P i)))
    with (t * ip (grad P i (w_i_star P i)) u) in B by (open_goal; ring).
  replace (norm_sq (sub (add (w_i_star P i) (scale t u)) (w_i_star P i))) with (t * t * norm_sq u) in B
    by (open_goal; rewrite (ip_sym _ u (w_i_star P i)); ring). lra.
Qed.

(* Rows that are written as squares of combinations, and values. *)
Fixpoint quads (n : nat) (qs : list (Z * list Z)) : list Z :=
  match qs with [] => times 0 (square (repeat 0%Z n)) | (c, l) :: rest => plus (times c (square l)) (quads n rest) end.
Definition row (n : nat) (qs : list (Z * list Z)) (lin : list Z) : list Z := quads n qs ++ lin.
Definition at_point := (list Z * list Z * list Z)%type. (* position, gradient, value *)
Definition interpolates (n : nat) (D m l q : Z) (a b : at_point) : list Z :=
  let '(xa, ga, fa) := a in let '(xb, gb, fb) := b in
  let dx := plus xa (times (-1) xb) in let dg := plus ga (times (-1) gb) in
  row n [(- ((l - m) * q), plus gb dx); ((l - m) * q, gb); ((l - m) * q - m * l - m * q, dx);
         (- (q * q) - m * q, dg); (m * q, plus dg dx)]%Z
    (times (2 * (l - m) * q * D) (plus fa (times (-1) fb))).

Fixpoint vals {V : Space} (v : list V) (qs : list (Z * list Z)) : R :=
  match qs with [] => 0 | (c, l) :: rest => IZR c * norm_sq (combination l v) + vals v rest end.
Lemma length_times c a : length (times c a) = length a.
Proof. apply map_length. Qed.
Lemma length_plus a : forall b, length a = length b -> length (plus a b) = length a.
Proof.
  induction a as [|x a IH]; intros [|y b] H; simpl in *; try discriminate; [reflexivity|]. rewrite IH by congruence. reflexivity.
Qed.
Lemma length_quads {V : Space} (v : list V) qs : Forall (fun q => length (snd q) = length v) qs ->
  length (quads (length v) qs) = length (products v).
Proof.
  induction 1 as [|[c l] qs H _ IH]; simpl.
  - rewrite length_times. apply length_square, repeat_length.
  - rewrite length_plus; rewrite length_times; [|rewrite IH]; apply length_square; assumption.
Qed.
Lemma value_quads {V : Space} (v : list V) qs : Forall (fun q => length (snd q) = length v) qs ->
  value (quads (length v) qs) (products v) = vals v qs.
Proof.
  induction 1 as [|[c l] qs H _ IH]; simpl.
  - rewrite value_times. lra.
  - rewrite value_plus, value_times, IH, value_square by assumption. reflexivity.
Qed.
Lemma value_row {V : Space} (v : list V) f qs lin : Forall (fun q => length (snd q) = length v) qs ->
  value (row (length v) qs lin) (products v ++ f) = vals v qs + value lin f.
Proof. intros H. unfold row. rewrite value_app by (apply length_quads; assumption). rewrite value_quads by assumption. reflexivity. Qed.
Lemma ip_combination {V : Space} l y : forall v : list V, ip (combination l v) y = value l (map (fun e => ip e y) v).
Proof.
  induction l as [|c l IH]; intros [|x v]; simpl; rewrite ?ip_zero; try reflexivity.
  rewrite ip_add, ip_scale, IH. reflexivity.
Qed.

Section Located.
Context {P : Problem} (v : list (V P)) (f : list R) (D : Z).
(* D times a vector is this combination. *)
Definition located (l : list Z) (x : V P) : Prop := length l = length v /\ forall y, IZR D * ip x y = ip (combination l v) y.
Definition located_point (i : nat) (a : at_point) (x : V P) : Prop :=
  let '(xa, ga, fa) := a in
  located xa (sub x (w_star P)) /\ located ga (grad P i x) /\ value fa f = IZR D * excess P i x.
Lemma located_plus a b x y : located a x -> located b y -> located (plus a b) (add x y).
Proof.
  intros [A Ha] [B Hb]. split; [rewrite length_plus; congruence|]. intros z.
  rewrite ip_combination, value_plus, <- !ip_combination, ip_add, <- Ha, <- Hb. ring.
Qed.
Lemma located_times c a x : located a x -> located (times c a) (scale (IZR c) x).
Proof.
  intros [A Ha]. split; [rewrite length_times; assumption|]. intros z.
  rewrite ip_combination, value_times, <- ip_combination, ip_scale, <- Ha. ring.
Qed.
Lemma located_norm a x : located a x -> norm_sq (combination a v) = IZR D * IZR D * norm_sq x.
Proof.
  intros [_ H]. unfold norm_sq. rewrite <- H, ip_sym. rewrite <- H. ring.
Qed.
Lemma interpolated m l q i a b x y : (0 < q)%Z -> (m <= l)%Z -> (i < N P)%nat ->
  smooth P (IZR l / IZR q) -> strongly_convex P (IZR m / IZR q) ->
  located_point i a x -> located_point i b y -> holds v f (interpolates (length v) D m l q a b).
Proof.
  intros Hq Hml Hi Hs Hc. destruct a as [[xa ga] fa], b as [[xb gb] fb]. intros (Xa & Ga & Fa) (Xb & Gb & Fb).
  apply IZR_lt in Hq. apply IZR_le in Hml.
  pose proof (located_plus _ _ _ _ Xa (located_times (-1) _ _ Xb)) as Dx.
  pose proof (located_plus _ _ _ _ Ga (located_times (-1) _ _ Gb)) as Dg.
  pose proof (located_plus _ _ _ _ Gb Dx) as GD. pose proof (located_plus _ _ _ _ Dg Dx) as DD.
  unfold holds, interpolates. rewrite value_row by (repeat constructor; [apply GD|apply Gb|apply Dx|apply Dg|apply DD]).
  cbn [vals]. rewrite (located_norm _ _ GD), (located_norm _ _ Gb), (located_norm _ _ Dx), (located_norm _ _ Dg), (located_norm _ _ DD).
  rewrite value_times, value_plus, value_times, Fa, Fb.
  assert (M : IZR m / IZR q <= IZR l / IZR q) by (unfold Rdiv; apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat|]; assumption).
  pose proof (interpolation _ _ (w_star P) i y x Hs Hc M Hi) as I.
  unfold tilt, level, excess in *. set (o := w_star P) in *. set (g := grad P i x) in *. set (h := grad P i y) in *.
  repeat (rewrite ?mult_IZR, ?plus_IZR, ?minus_IZR, ?opp_IZR).
  apply (Rmult_le_compat_l (IZR q * IZR q)) in I; [|nra].
  set (A := norm_sq (sub g h)). set (B := norm_sq (sub x y)). set (C := ip (sub g h) (sub x y)).
  set (E := ip h (sub x y)). set (e := F P i x - F P i y).
  assert (I' : IZR q * IZR q * A - 2 * IZR m * IZR q * C + IZR m * IZR l * B <= 2 * (IZR l - IZR m) * IZR q * (e - E)).
  { replace (IZR q * IZR q * A - 2 * IZR m * IZR q * C + IZR m * IZR l * B) with
      (IZR q * IZR q * norm_sq (sub (sub g (scale (IZR m / IZR q) (sub x o))) (sub h (scale (IZR m / IZR q) (sub y o))))
       + IZR m * (IZR l - IZR m) * B).
    2:{ unfold A, B, C. open_goal. rewrite (ip_sym _ h g), (ip_sym _ y x), (ip_sym _ o x), (ip_sym _ o y), (ip_sym _ x g), (ip_sym _ x h), (ip_sym _ y g), (ip_sym _ y h), (ip_sym _ o g), (ip_sym _ o h). field. lra. }
    eapply Rle_trans; [apply Rplus_le_compat_r; exact I|]. right.
    unfold B, E, e. open_goal. rewrite (ip_sym _ y x), (ip_sym _ o x), (ip_sym _ o y). field. lra. }
  assert (Q1 : norm_sq (add h (add (sub x o) (scale (IZR (-1)) (sub y o)))) = norm_sq h + 2 * E + B)
    by (unfold E, B; open_goal; rewrite (ip_sym _ y x), (ip_sym _ o x), (ip_sym _ o y), (ip_sym _ x h), (ip_sym _ y h), (ip_sym _ o h); ring).
  assert (Q2 : norm_sq (add (sub x o) (scale (IZR (-1)) (sub y o))) = B)
    by (unfold B; open_goal; rewrite (ip_sym _ y x), (ip_sym _ o x), (ip_sym _ o y); ring).
  assert (Q3 : norm_sq (add (add g (scale (IZR (-1)) h)) (add (sub x o) (scale (IZR (-1)) (sub y o)))) = A + 2 * C + B)
    by (unfold A, B, C; open_goal; rewrite (ip_sym _ y x), (ip_sym _ o x), (ip_sym _ o y), (ip_sym _ x h), (ip_sym _ y h), (ip_sym _ o h), (ip_sym _ x g), (ip_sym _ y g), (ip_sym _ o g), (ip_sym _ h g); ring).
  assert (Q4 : norm_sq (add g (scale (IZR (-1)) h)) = A) by reflexivity.
  rewrite Q1, Q2, Q3, Q4.
  apply (Rmult_le_compat_l (IZR D * IZR D)) in I'; [|nra].
  unfold e in I'. lra.
Qed.
Lemma bounded l x G lin : located l x -> norm_sq x <= G -> value lin f = IZR D * IZR D * G ->
  holds v f (row (length v) [((-1)%Z, l)] lin).
Proof.
  intros X H E. unfold holds. rewrite value_row by (repeat constructor; apply X). cbn [vals].
  rewrite (located_norm _ _ X), E. nra.
Qed.
Lemma lawful lin : 0 <= value lin f -> holds v f (row (length v) [] lin).
Proof. intros H. unfold holds. rewrite value_row by constructor. cbn [vals]. lra. Qed.
End Located.
