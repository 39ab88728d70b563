(* Real inner product spaces and finite weighted sums: the little algebra that every proof here uses. *)
From Coq Require Import Reals Lra Lia Arith.
Open Scope R_scope.

Record Space := {
  point :> Type;
  zero : point;
  add : point -> point -> point;
  scale : R -> point -> point;
  ip : point -> point -> R;
  add_comm : forall x y, add x y = add y x;
  add_assoc : forall x y z, add x (add y z) = add (add x y) z;
  add_zero : forall x, add x zero = x;
  scale_one : forall x, scale 1 x = x;
  scale_scale : forall a b x, scale a (scale b x) = scale (a * b) x;
  scale_add : forall a x y, scale a (add x y) = add (scale a x) (scale a y);
  add_scale : forall a b x, scale (a + b) x = add (scale a x) (scale b x);
  add_opposite : forall x, add x (scale (-1) x) = zero;
  ip_sym : forall x y, ip x y = ip y x;
  ip_add : forall x y z, ip (add x y) z = ip x z + ip y z;
  ip_scale : forall a x y, ip (scale a x) y = a * ip x y;
  ip_pos : forall x, 0 <= ip x x;
  ip_definite : forall x, ip x x = 0 -> x = zero
}.
Arguments zero {_}. Arguments add {_}. Arguments scale {_}. Arguments ip {_}.

Definition sub {V : Space} (x y : V) : V := add x (scale (-1) y).
Definition norm_sq {V : Space} (x : V) : R := ip x x.

Fixpoint sum (n : nat) (f : nat -> R) : R := match n with O => 0 | S k => sum k f + f k end.
Fixpoint vsum {V : Space} (n : nat) (f : nat -> V) : V :=
  match n with O => zero | S k => add (vsum k f) (f k) end.

(* The mean of numbers and of points under weights a. *)
Definition mean (n : nat) (a f : nat -> R) : R := sum n (fun i => a i * f i).
Definition centre {V : Space} (n : nat) (a : nat -> R) (f : nat -> V) : V := vsum n (fun i => scale (a i) (f i)).
Definition weights (n : nat) (a : nat -> R) : Prop := (forall i, (i < n)%nat -> 0 <= a i) /\ sum n a = 1.

Lemma ip_add_r {V : Space} (x y z : V) : ip x (add y z) = ip x y + ip x z.
Proof. rewrite ip_sym, ip_add, (ip_sym _ y x), (ip_sym _ z x); reflexivity. Qed.
Lemma ip_scale_r {V : Space} a (x y : V) : ip x (scale a y) = a * ip x y.
Proof. rewrite ip_sym, ip_scale, (ip_sym _ y x); reflexivity. Qed.
Lemma ip_zero {V : Space} (y : V) : ip zero y = 0.
Proof. pose proof (ip_add V zero zero y) as H. rewrite add_zero in H. lra. Qed.
Lemma ip_zero_r {V : Space} (y : V) : ip y zero = 0.
Proof. rewrite ip_sym; apply ip_zero. Qed.

Ltac bilinear := unfold norm_sq, sub in *;
  repeat (rewrite ip_add in * || rewrite ip_add_r in * || rewrite ip_scale in * || rewrite ip_scale_r in *
          || rewrite ip_zero in * || rewrite ip_zero_r in *).

Ltac open_goal := unfold norm_sq, sub;
  repeat (rewrite ip_add || rewrite ip_add_r || rewrite ip_scale || rewrite ip_scale_r || rewrite ip_zero || rewrite ip_zero_r).

Lemma sum_ext n f g : (forall i, (i < n)%nat -> f i = g i) -> sum n f = sum n g.
Proof. induction n; intros H; simpl; [reflexivity|]. rewrite IHn, (H n); auto. Qed.
Lemma sum_le n f g : (forall i, (i < n)%nat -> f i <= g i) -> sum n f <= sum n g.
Proof. induction n; intros H; simpl; [lra|]. assert (sum n f <= sum n g) by auto. specialize (H n). lra || (assert (f n <= g n) by auto; lra). Qed.
Lemma sum_plus n f g : sum n (fun i => f i + g i) = sum n f + sum n g.
Proof. induction n; simpl; [ring|rewrite IHn; ring]. Qed.
Lemma sum_times n c f : sum n (fun i => c * f i) = c * sum n f.
Proof. induction n; simpl; [ring|rewrite IHn; ring]. Qed.
Lemma sum_zero n : sum n (fun _ => 0) = 0.
Proof. induction n; simpl; lra. Qed.
Lemma sum_const n c : sum n (fun _ => c) = INR n * c.
Proof. induction n; [simpl; ring|]. rewrite S_INR. simpl sum. rewrite IHn. ring. Qed.
Lemma sum_swap n m f : sum n (fun i => sum m (fun j => f i j)) = sum m (fun j => sum n (fun i => f i j)).
Proof. induction n; simpl; [symmetry; apply sum_zero|]. rewrite IHn, <- sum_plus. reflexivity. Qed.

Lemma mean_ext n a f g : (forall i, (i < n)%nat -> f i = g i) -> mean n a f = mean n a g.
Proof. intros H; apply sum_ext; intros i Hi; rewrite (H i Hi); reflexivity. Qed.
Lemma mean_le n a f g : weights n a -> (forall i, (i < n)%nat -> f i <= g i) -> mean n a f <= mean n a g.
Proof. intros [Ha _] H; apply sum_le; intros i Hi; apply Rmult_le_compat_l; auto. Qed.
Lemma mean_plus n a f g : mean n a (fun i => f i + g i) = mean n a f + mean n a g.
Proof. unfold mean; rewrite <- sum_plus; apply sum_ext; intros; ring. Qed.
Lemma mean_times n a c f : mean n a (fun i => c * f i) = c * mean n a f.
Proof. unfold mean; rewrite <- sum_times; apply sum_ext; intros; ring. Qed.
Lemma mean_const n a c : weights n a -> mean n a (fun _ => c) = c.
Proof.
  intros [_ H]; unfold mean.
  rewrite (sum_ext n (fun i => a i * c) (fun i => c * a i)) by (intros; ring). rewrite sum_times, H; ring.
Qed.
Lemma mean_swap n m a b f : mean n a (fun i => mean m b (fun j => f i j)) = mean m b (fun j => mean n a (fun i => f i j)).
Proof.
  unfold mean.
  rewrite (sum_ext n _ (fun i => sum m (fun j => a i * (b j * f i j)))) by (intros; symmetry; apply sum_times).
  rewrite sum_swap; apply sum_ext; intros j Hj. rewrite <- sum_times; apply sum_ext; intros; ring.
Qed.
Lemma mean_nonneg n a f : weights n a -> (forall i, (i < n)%nat -> 0 <= f i) -> 0 <= mean n a f.
Proof. intros Ha H. rewrite <- (mean_const n a 0 Ha). apply mean_le; auto. Qed.

Lemma ip_centre {V : Space} n a (f : nat -> V) y : ip (centre n a f) y = mean n a (fun i => ip (f i) y).
Proof. unfold centre, mean; induction n; simpl; [apply ip_zero|]. rewrite ip_add, IHn, ip_scale; reflexivity. Qed.

(* Jensen for the squared norm, with what it leaves: the spread around the centre. *)
Lemma spread {V : Space} n a (f : nat -> V) y : weights n a ->
  mean n a (fun i => norm_sq (sub (f i) y))
  = norm_sq (sub (centre n a f) y) + mean n a (fun i => norm_sq (sub (centre n a f) (f i))).
Proof.
  intros Ha. set (c := centre n a f).
  assert (Hc : mean n a (fun i => ip (f i) c) = ip c c) by (unfold c; rewrite <- ip_centre; reflexivity).
  assert (Hy : mean n a (fun i => ip (f i) y) = ip c y) by (unfold c; rewrite <- ip_centre; reflexivity).
  rewrite (mean_ext n a (fun i => norm_sq (sub (f i) y)) (fun i => ip (f i) (f i) + ((-2) * ip (f i) y + ip y y)))
    by (intros; bilinear; rewrite (ip_sym V y (f i)); ring).
  rewrite (mean_ext n a (fun i => norm_sq (sub c (f i))) (fun i => ip (f i) (f i) + ((-2) * ip (f i) c + ip c c)))
    by (intros; bilinear; rewrite (ip_sym V c (f i)); ring).
  rewrite !mean_plus, !mean_times, !(mean_const n a _ Ha), Hc, Hy. bilinear. rewrite (ip_sym V y c). ring.
Qed.
Lemma jensen {V : Space} n a (f : nat -> V) : weights n a -> norm_sq (centre n a f) <= mean n a (fun i => norm_sq (f i)).
Proof.
  intros Ha. pose proof (spread n a f zero Ha) as H.
  assert (P : 0 <= mean n a (fun i => norm_sq (sub (centre n a f) (f i)))) by (apply mean_nonneg; [auto|]; intros; apply ip_pos).
  rewrite (mean_ext n a (fun i => norm_sq (sub (f i) zero)) (fun i => norm_sq (f i))) in H by (intros; bilinear; ring).
  replace (norm_sq (sub (centre n a f) zero)) with (norm_sq (centre n a f)) in H by (bilinear; ring). lra.
Qed.
(* The same for weights that sum to anything. *)
Lemma cauchy {V : Space} n b (f : nat -> V) : (forall i, (i < n)%nat -> 0 <= b i) ->
  norm_sq (centre n b f) <= sum n b * mean n b (fun i => norm_sq (f i)).
Proof.
  intros Hb. set (c := centre n b f). set (B := sum n b).
  assert (Hc : mean n b (fun i => ip (f i) c) = norm_sq c) by (unfold norm_sq, c at 2; rewrite ip_centre; reflexivity).
  assert (HB : 0 <= B) by (unfold B; rewrite <- (sum_zero n); apply sum_le; auto).
  assert (E : 0 <= mean n b (fun i => norm_sq (sub (scale B (f i)) c))).
  { unfold mean. rewrite <- (sum_zero n). apply sum_le. intros i Hi. apply Rmult_le_pos; [auto|apply ip_pos]. }
  rewrite (mean_ext n b _ (fun i => B * B * norm_sq (f i) + (- (2 * B) * ip (f i) c + norm_sq c * 1))) in E
    by (intros; open_goal; rewrite (ip_sym _ c (f i)); ring).
  rewrite !mean_plus, !mean_times, Hc in E.
  assert (O : mean n b (fun _ => 1) = B) by (unfold mean, B; apply sum_ext; intros; ring). rewrite O in E.
  set (q := mean n b (fun i => norm_sq (f i))) in *.
  destruct (Rle_lt_or_eq_dec 0 B HB) as [P|Z].
  - apply (Rmult_le_reg_l B); [assumption|]. lra.
  - assert (Zi : forall i, (i < n)%nat -> b i = 0).
    { intros i Hi. assert (b i <= B).
      { unfold B. clear - Hb Hi. induction n; [lia|]. simpl. destruct (Nat.eq_dec i n) as [e|e].
        - subst. assert (0 <= sum n b) by (rewrite <- (sum_zero n); apply sum_le; auto). lra.
        - assert (b i <= sum n b) by (apply IHn; auto; lia). assert (0 <= b n) by auto. lra. }
      pose proof (Hb i Hi). lra. }
    rewrite <- Hc. unfold mean at 1. rewrite (sum_ext n _ (fun _ => 0)) by (intros i Hi; rewrite (Zi i Hi); ring).
    rewrite sum_zero, <- Z. lra.
Qed.
