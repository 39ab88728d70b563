(* Certificates over an interval: what Certificate.v checks in whole numbers, here in polynomials of a parameter x.
   A polynomial is the list of its whole coefficients, the constant first; a row is a list of polynomials.
   On the interval the polynomials u and v are not negative. Sums of products of their powers, with whole
   numbers >= 0 before them, are not negative either: so are multipliers and weights written. *)
From Coq Require Import Reals Lra Lia ZArith List Bool.
Require Import Space Certificate.
Import ListNotations.
Open Scope R_scope.

Fixpoint ev (x : R) (p : list Z) : R := match p with [] => 0 | c :: p => IZR c + x * ev x p end.
Fixpoint mul (a b : list Z) : list Z := match a with [] => [] | c :: a => plus (times c b) (0%Z :: mul a b) end.
Fixpoint power (a : list Z) (k : nat) : list Z := match k with O => [1%Z] | S k => mul a (power a k) end.
(* sum_k c_k u^k v^(d - k) *)
Fixpoint mixed (u v : list Z) (c : list Z) : list Z :=
  match c with [] => [] | a :: c => plus (times a (power v (length c))) (mul u (mixed u v c)) end.

Lemma ev_plus x a : forall b, ev x (plus a b) = ev x a + ev x b.
Proof.
  induction a as [|c a IH]; intros b; simpl; [lra|]. destruct b as [|d b]; simpl; [lra|]. rewrite IH, plus_IZR. lra.
Qed.
Lemma ev_times x c a : ev x (times c a) = IZR c * ev x a.
Proof. induction a as [|d a IH]; simpl; [lra|]. rewrite IH, mult_IZR. lra. Qed.
Lemma ev_mul x a b : ev x (mul a b) = ev x a * ev x b.
Proof. induction a as [|c a IH]; simpl; [lra|]. rewrite ev_plus, ev_times. simpl. rewrite IH. lra. Qed.
Lemma ev_power x a k : ev x (power a k) = ev x a ^ k.
Proof. induction k as [|k IH]; simpl; [lra|]. rewrite ev_mul, IH. reflexivity. Qed.
Lemma ev_zero x a : forallb (Z.eqb 0) a = true -> ev x a = 0.
Proof.
  induction a as [|c a IH]; simpl; [lra|]. intros H. apply andb_true_iff in H as [H1 H2].
  destruct c; [|discriminate|discriminate]. rewrite IH by assumption. lra.
Qed.
Lemma ev_same x a : forall b, same a b = true -> ev x a = ev x b.
Proof.
  induction a as [|c a IH]; intros b H; [simpl in H; rewrite (ev_zero x b) by exact H; reflexivity|].
  destruct b as [|d b]; [rewrite (ev_zero x (c :: a)) by exact H; reflexivity|].
  simpl in *. apply andb_true_iff in H as [H1 H2]. apply Z.eqb_eq in H1. rewrite H1, (IH b) by assumption. reflexivity.
Qed.
Lemma mixed_nonneg x u v c : 0 <= ev x u -> 0 <= ev x v -> forallb (Z.leb 0) c = true -> 0 <= ev x (mixed u v c).
Proof.
  intros U W. induction c as [|a c IH]; simpl; [lra|]. intros H. apply andb_true_iff in H as [H1 H2].
  apply Z.leb_le, IZR_le in H1. rewrite ev_plus, ev_times, ev_mul, ev_power.
  apply Rplus_le_le_0_compat; apply Rmult_le_pos; auto. apply pow_le; assumption.
Qed.
Lemma mixed_positive x u v c : 0 < ev x u -> 0 <= ev x v -> forallb (Z.leb 0) c = true -> (0 <? last c 0)%Z = true ->
  0 < ev x (mixed u v c).
Proof.
  intros U W. induction c as [|a c IH]; [discriminate|]. intros H L. simpl in H. apply andb_true_iff in H as [H1 H2].
  cbn [mixed]. rewrite ev_plus, ev_times, ev_mul, ev_power. destruct c as [|b c].
  - simpl in L. apply Z.ltb_lt, IZR_lt in L. simpl. lra.
  - apply Z.leb_le, IZR_le in H1. apply Rplus_le_lt_0_compat; [apply Rmult_le_pos; [assumption|apply pow_le; assumption]|].
    apply Rmult_lt_0_compat; [assumption|]. apply IH; assumption.
Qed.

(* Rows of polynomials. *)
Definition row_of := list (list Z).
Fixpoint value_at (x : R) (row : row_of) (of_them : list R) : R :=
  match row, of_them with c :: cs, y :: ys => ev x c * y + value_at x cs ys | _, _ => 0 end.
Definition holds_at (x : R) {V : Space} (v : list V) (f : list R) (row : row_of) : Prop :=
  0 <= value_at x row (products v ++ f).
Fixpoint square_at (l : row_of) : row_of :=
  match l with [] => [] | c :: rest => mul c c :: map (fun y => times 2 (mul c y)) rest ++ square_at rest end.
Fixpoint plus_at (a b : row_of) : row_of :=
  match a, b with [], b => b | a, [] => a | c :: a, d :: b => plus c d :: plus_at a b end.
Definition times_at (c : list Z) (row : row_of) : row_of := map (mul c) row.
Fixpoint summed_at (factors : row_of) (rows : list row_of) : row_of :=
  match factors, rows with c :: cs, row :: rest => plus_at (times_at c row) (summed_at cs rest) | _, _ => [] end.
Fixpoint same_at (a b : row_of) : bool :=
  match a, b with
  | [], b => forallb (same []) b
  | a, [] => forallb (same []) a
  | c :: a, d :: b => same c d && same_at a b
  end.
Definition verified_at (n : nat) (u v factor : list Z) (claim : row_of) (multipliers : row_of)
    (constraints : list row_of) (weights : row_of) (roots : list row_of) : bool :=
  (0 <? last factor 0)%Z && forallb (Z.leb 0) factor &&
  forallb (forallb (Z.leb 0)) multipliers && forallb (forallb (Z.leb 0)) weights &&
  forallb (fun l => Nat.eqb (length l) n) roots &&
  same_at (times_at (mixed u v factor) claim)
    (plus_at (summed_at (map (mixed u v) multipliers) constraints)
      (summed_at (map (mixed u v) weights) (map square_at roots))).
Fixpoint combination_at (x : R) {V : Space} (l : row_of) (v : list V) : V :=
  match l, v with c :: cs, y :: ys => add (scale (ev x c) y) (combination_at x cs ys) | _, _ => zero end.

Section At_a_point.
Context (x : R).
Lemma value_at_nil row : value_at x row [] = 0.
Proof. destruct row; reflexivity. Qed.
Lemma value_at_plus a : forall b z, value_at x (plus_at a b) z = value_at x a z + value_at x b z.
Proof.
  induction a as [|c a IH]; intros b z; simpl; [lra|]. destruct b as [|d b]; [simpl; destruct z; lra|].
  destruct z; simpl; [lra|]. rewrite IH, ev_plus. lra.
Qed.
Lemma value_at_times c row : forall z, value_at x (times_at c row) z = ev x c * value_at x row z.
Proof. induction row as [|d row IH]; intros [|y z]; simpl; try lra. rewrite IH, ev_mul. lra. Qed.
Lemma value_at_zero b : forall z, forallb (same []) b = true -> value_at x b z = 0.
Proof.
  induction b as [|c b IH]; intros [|y z] H; cbn [value_at]; try lra. cbn [forallb] in H.
  apply andb_true_iff in H as [H1 H2]. rewrite <- (ev_same x [] c) by exact H1. rewrite IH by assumption. simpl. lra.
Qed.
Lemma value_at_same a : forall b z, same_at a b = true -> value_at x a z = value_at x b z.
Proof.
  induction a as [|c a IH]; intros b z H; [cbn [same_at] in H; rewrite (value_at_zero b) by exact H; reflexivity|].
  destruct b as [|d b]; [cbn [same_at] in H; rewrite value_at_zero by exact H; reflexivity|].
  cbn [same_at] in H. apply andb_true_iff in H as [H1 H2].
  destruct z; cbn [value_at]; [reflexivity|]. rewrite (ev_same x c d), (IH b) by assumption. reflexivity.
Qed.
Lemma value_at_app a : forall b y z, length a = length y ->
  value_at x (a ++ b) (y ++ z) = value_at x a y + value_at x b z.
Proof.
  induction a as [|c a IH]; intros b [|w y] z H; simpl in *; try discriminate; [lra|]. rewrite IH by congruence. lra.
Qed.
Lemma value_at_cross {V : Space} (y : V) c l : forall v, length l = length v ->
  value_at x (map (fun d => times 2 (mul c d)) l) (map (ip y) v) = 2 * ev x c * ip y (combination_at x l v).
Proof.
  induction l as [|d l IH]; intros [|z v] H; cbn [length value_at map combination_at] in *; try discriminate;
    [rewrite ip_zero_r; lra|].
  rewrite IH by congruence. rewrite ip_add_r, ip_scale_r, ev_times, ev_mul. lra.
Qed.
Lemma length_square_at {V : Space} l : forall v : list V, length l = length v -> length (square_at l) = length (products v).
Proof.
  induction l as [|c l IH]; intros [|z v] H; cbn [length square_at products] in *; try discriminate; [reflexivity|].
  rewrite !app_length, !map_length, (IH v) by congruence. congruence.
Qed.
Lemma value_at_square {V : Space} l : forall v : list V, length l = length v ->
  value_at x (square_at l) (products v) = norm_sq (combination_at x l v).
Proof.
  induction l as [|c l IH]; intros [|z v] H; cbn [length value_at combination_at square_at products app] in *;
    try discriminate; [unfold norm_sq; rewrite ip_zero; lra|].
  rewrite value_at_app by (rewrite !map_length; congruence). rewrite value_at_cross, IH by congruence. rewrite ev_mul.
  unfold norm_sq. set (s := combination_at x l v). rewrite !ip_add, !ip_add_r, !ip_scale, !ip_scale_r, (ip_sym _ s z). lra.
Qed.
Lemma value_at_summed z : forall rows factors, (forall row, In row rows -> 0 <= value_at x row z) ->
  (forall c, In c factors -> 0 <= ev x c) -> 0 <= value_at x (summed_at factors rows) z.
Proof.
  induction rows as [|row rows IH]; intros [|c factors] H F; cbn [summed_at value_at]; try lra.
  rewrite value_at_plus, value_at_times. apply Rplus_le_le_0_compat.
  - apply Rmult_le_pos; [apply F|apply H]; left; reflexivity.
  - apply IH; intros; [apply H|apply F]; right; assumption.
Qed.

Theorem sound_at {V : Space} (v : list V) (f : list R) u w factor claim multipliers constraints weights roots :
  0 < ev x u -> 0 <= ev x w ->
  verified_at (length v) u w factor claim multipliers constraints weights roots = true ->
  Forall (holds_at x v f) constraints -> holds_at x v f claim.
Proof.
  unfold verified_at. intros U W H C. apply andb_true_iff in H as [H Same]. apply andb_true_iff in H as [H Len].
  apply andb_true_iff in H as [H Wei]. apply andb_true_iff in H as [H Mul]. apply andb_true_iff in H as [Last Fac].
  assert (Z : forall fs, forallb (forallb (Z.leb 0)) fs = true -> forall c, In c (map (mixed u w) fs) -> 0 <= ev x c).
  { intros fs A c I. apply in_map_iff in I as (d & <- & I). rewrite forallb_forall in A.
    apply mixed_nonneg; [lra|assumption|]. apply A; assumption. }
  pose proof (mixed_positive x u w factor U W Fac Last) as P. unfold holds_at in *. set (z := products v ++ f) in *.
  apply (value_at_same _ _ z) in Same. rewrite value_at_times, value_at_plus in Same.
  assert (A : 0 <= value_at x (summed_at (map (mixed u w) multipliers) constraints) z)
    by (apply value_at_summed; [apply Forall_forall; assumption|apply Z; assumption]).
  assert (B : 0 <= value_at x (summed_at (map (mixed u w) weights) (map square_at roots)) z).
  { apply value_at_summed; [|apply Z; assumption]. intros row Hr. apply in_map_iff in Hr as (l & <- & Hl).
    rewrite forallb_forall in Len. specialize (Len l Hl). apply Nat.eqb_eq in Len.
    unfold z. rewrite <- (app_nil_r (square_at l)), value_at_app by (apply length_square_at; assumption).
    rewrite value_at_square by assumption. simpl. pose proof (ip_pos V (combination_at x l v)). unfold norm_sq. lra. }
  apply (Rmult_le_reg_l (ev x (mixed u w factor))); lra.
Qed.
End At_a_point.
