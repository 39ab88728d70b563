(* A certificate: whole numbers that write an inequality as a sum of constraints and of squares.
   Vectors v and values f are given; a row of whole numbers stands for the sum of them times the inner products
   <v0,v0>, <v0,v1>, ..., <v1,v1>, <v1,v2>, ... and then the values. *)
From Coq Require Import Reals Lra ZArith List Bool.
Require Import Space.
Import ListNotations.
Open Scope R_scope.

Fixpoint products {V : Space} (v : list V) : list R :=
  match v with [] => [] | x :: rest => ip x x :: map (ip x) rest ++ products rest end.
Fixpoint value (row : list Z) (of_them : list R) : R :=
  match row, of_them with c :: cs, x :: xs => IZR c * x + value cs xs | _, _ => 0 end.
Definition holds {V : Space} (v : list V) (f : list R) (row : list Z) : Prop := 0 <= value row (products v ++ f).

(* The square of a combination of the vectors as a row. *)
Fixpoint square (l : list Z) : list Z :=
  match l with [] => [] | x :: rest => (x * x)%Z :: map (fun y => (2 * (x * y))%Z) rest ++ square rest end.
Fixpoint plus (a b : list Z) : list Z :=
  match a, b with [], b => b | a, [] => a | x :: a, y :: b => (x + y)%Z :: plus a b end.
Definition times (c : Z) (row : list Z) : list Z := map (Z.mul c) row.
Fixpoint summed (factors : list Z) (rows : list (list Z)) : list Z :=
  match factors, rows with
  | c :: cs, row :: rest => let tail := summed cs rest in if (c =? 0)%Z then tail else plus (times c row) tail
  | _, _ => []
  end.
Fixpoint same (a b : list Z) : bool :=
  match a, b with
  | [], b => forallb (Z.eqb 0) b
  | a, [] => forallb (Z.eqb 0) a
  | x :: a, y :: b => (x =? y)%Z && same a b
  end.
Definition verified (n : nat) (factor : Z) (claim : list Z) (multipliers : list Z) (constraints : list (list Z))
    (weights : list Z) (roots : list (list Z)) : bool :=
  (0 <? factor)%Z && forallb (Z.leb 0) multipliers && forallb (Z.leb 0) weights &&
  forallb (fun l => Nat.eqb (length l) n) roots &&
  same (times factor claim) (plus (summed multipliers constraints) (summed weights (map square roots))).

Fixpoint combination {V : Space} (l : list Z) (v : list V) : V :=
  match l, v with c :: cs, x :: xs => add (scale (IZR c) x) (combination cs xs) | _, _ => zero end.

Lemma value_nil row : value row [] = 0.
Proof. destruct row; reflexivity. Qed.
Lemma value_plus a : forall b z, value (plus a b) z = value a z + value b z.
Proof.
  induction a as [|x a IH]; intros b z; simpl; [lra|]. destruct b as [|y b]; [simpl; destruct z; lra|].
  destruct z; simpl; [lra|]. rewrite IH, plus_IZR. lra.
Qed.
Lemma value_times c row : forall z, value (times c row) z = IZR c * value row z.
Proof. induction row as [|x row IH]; intros [|y z]; simpl; try lra. rewrite IH, mult_IZR. lra. Qed.
Lemma value_zero b : forall z, forallb (Z.eqb 0) b = true -> value b z = 0.
Proof.
  induction b as [|x b IH]; intros [|y z]; simpl; try lra. intros H. apply andb_true_iff in H as [H1 H2].
  assert (E : x = 0%Z) by (destruct x; [reflexivity|discriminate|discriminate]). rewrite E, IH by assumption. lra.
Qed.
Lemma value_same a : forall b z, same a b = true -> value a z = value b z.
Proof.
  induction a as [|x a IH]; intros b z H; [simpl in *; rewrite value_zero; auto|].
  destruct b as [|y b]; [rewrite value_zero by exact H; reflexivity|]. simpl in H. apply andb_true_iff in H as [H1 H2].
  apply Z.eqb_eq in H1. subst. destruct z; simpl; [reflexivity|]. rewrite (IH b) by assumption. reflexivity.
Qed.
Lemma value_app a : forall b y z, length a = length y -> value (a ++ b) (y ++ z) = value a y + value b z.
Proof.
  induction a as [|x a IH]; intros b [|w y] z H; simpl in *; try discriminate; [lra|]. rewrite IH by congruence. lra.
Qed.
Lemma value_cross {V : Space} (x : V) c l : forall v, length l = length v ->
  value (map (fun y => (2 * (c * y))%Z) l) (map (ip x) v) = 2 * IZR c * ip x (combination l v).
Proof.
  induction l as [|d l IH]; intros [|y v] H; cbn [length value map combination square products app] in *; try discriminate; [rewrite ip_zero_r; lra|].
  rewrite IH by congruence. rewrite ip_add_r, ip_scale_r, !mult_IZR. lra.
Qed.
Lemma length_square {V : Space} l : forall v : list V, length l = length v -> length (square l) = length (products v).
Proof.
  induction l as [|c l IH]; intros [|x v] H; cbn [length value map combination square products app] in *; try discriminate; [reflexivity|].
  rewrite !app_length, !map_length, (IH v) by congruence. congruence.
Qed.
Lemma value_square {V : Space} l : forall v : list V, length l = length v ->
  value (square l) (products v) = norm_sq (combination l v).
Proof.
  induction l as [|c l IH]; intros [|x v] H; cbn [length value map combination square products app] in *; try discriminate; [unfold norm_sq; rewrite ip_zero; lra|].
  rewrite value_app by (rewrite !map_length; congruence). rewrite value_cross, IH by congruence. rewrite mult_IZR.
  unfold norm_sq. set (s := combination l v). rewrite !ip_add, !ip_add_r, !ip_scale, !ip_scale_r, (ip_sym _ s x). lra.
Qed.
Lemma value_summed z : forall rows factors, (forall row, In row rows -> 0 <= value row z) ->
  forallb (Z.leb 0) factors = true -> 0 <= value (summed factors rows) z.
Proof.
  induction rows as [|row rows IH]; intros [|c factors] H F; simpl; try lra.
  simpl in F. apply andb_true_iff in F as [F1 F2]. apply Z.leb_le, IZR_le in F1.
  assert (T : 0 <= value (summed factors rows) z) by (apply IH; [intros; apply H; right|]; assumption).
  destruct (c =? 0)%Z; [assumption|]. rewrite value_plus, value_times.
  assert (0 <= IZR c * value row z) by (apply Rmult_le_pos; [assumption|]; apply H; left; reflexivity). lra.
Qed.

Theorem sound {V : Space} (v : list V) (f : list R) factor claim multipliers constraints weights roots :
  verified (length v) factor claim multipliers constraints weights roots = true ->
  Forall (holds v f) constraints -> holds v f claim.
Proof.
  unfold verified. intros H C. repeat (apply andb_true_iff in H as [H ?]).
  apply Z.ltb_lt, IZR_lt in H. unfold holds in *. set (z := products v ++ f) in *.
  assert (E : IZR factor * value claim z =
    value (summed multipliers constraints) z + value (summed weights (map square roots)) z)
    by (rewrite <- value_times, <- value_plus; apply value_same; assumption).
  assert (A : 0 <= value (summed multipliers constraints) z)
    by (apply value_summed; [apply Forall_forall|]; assumption).
  assert (B : 0 <= value (summed weights (map square roots)) z).
  { apply value_summed; [|assumption]. intros row Hr. apply in_map_iff in Hr as (l & <- & Hl).
    match goal with L : forallb (fun l => Nat.eqb (length l) _) roots = true |- _ => rewrite forallb_forall in L; specialize (L l Hl); apply Nat.eqb_eq in L; rename L into Len end.
    unfold z. rewrite <- (app_nil_r (square l)), value_app by (apply length_square; assumption).
    rewrite value_square by assumption. simpl. pose proof (ip_pos V (combination l v)) as Q. unfold norm_sq. lra. }
  assert (0 <= IZR factor * value claim z) by lra.
  apply (Rmult_le_reg_l (IZR factor)); lra.
Qed.
