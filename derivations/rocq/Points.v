(* Facts of points, gradients and weights alone, of no step: what proofs of statements about points rest on. *)
From Coq Require Import Reals Lra Lia.
Require Import Space Model Facts.
Open Scope R_scope.

Lemma less l r m a b : 0 <= m -> a <= b -> l <= r - m * (b - a) -> l <= r.
Proof. intros M A. pose proof (Rmult_le_pos m (b - a) M ltac:(lra)). lra. Qed.

Lemma letter (x : R) : exists y, y = x.
Proof. exists x. reflexivity. Qed.

(* The gradient of a mean vanishes at the mean's minimiser, under any weights. *)
Lemma still (P : Problem) a o L : weights (N P) a ->
  (forall v, mean (N P) a (fun i => F P i o) <= mean (N P) a (fun i => F P i v)) -> smooth P L -> 0 <= L ->
  forall y, ip (centre (N P) a (fun i => grad P i o)) y = 0.
Proof.
  intros Ha Ho Hs HL y. rewrite ip_centre.
  exact (stationary_at (Build_Problem (V P) (N P) a (F P) (grad P) o (w_i_star P)) L y Ha Ho Hs HL).
Qed.

Lemma rest (P : Problem) L i : (forall j v, (j < N P)%nat -> F P j (w_i_star P j) <= F P j v) -> smooth P L -> 0 <= L ->
  (i < N P)%nat -> forall y, ip (grad P i (w_i_star P i)) y = 0.
Proof.
  intros Hm Hs HL Hi y. apply (no_slope _ (L / 2 * norm_sq y)); [pose proof (ip_pos _ y); unfold norm_sq; nra|].
  intros t. pose proof (Hm i (add (w_i_star P i) (scale t y)) Hi) as A.
  pose proof (Hs i (w_i_star P i) (add (w_i_star P i) (scale t y)) Hi) as B.
  replace (ip (grad P i (w_i_star P i)) (sub (add (w_i_star P i) (scale t y)) (w_i_star P i)))
    with (t * ip (grad P i (w_i_star P i)) y) in B by (open_goal; ring).
  replace (norm_sq (sub (add (w_i_star P i) (scale t y)) (w_i_star P i))) with (t * t * norm_sq y) in B
    by (open_goal; rewrite (ip_sym _ y (w_i_star P i)); ring). lra.
Qed.

(* Weights by their ratios. *)
Lemma by_ratio (P : Problem) a f : (forall i, (i < N P)%nat -> 0 < p P i) ->
  mean (N P) (p P) (fun i => a i * / p P i * f i) = mean (N P) a f.
Proof. intros H. unfold mean. apply sum_ext. intros i Hi. pose proof (H i Hi). field. lra. Qed.

(* Cauchy-Schwarz for a mean of numbers times vectors. *)
Lemma mean_cauchy {V : Space} n b c (f : nat -> V) : weights n b ->
  norm_sq (centre n b (fun i => scale (c i) (f i)))
  <= mean n b (fun i => c i ^ 2) * mean n b (fun i => ip (f i) (f i)).
Proof.
  intros Hb. set (s := centre n b (fun i => scale (c i) (f i))).
  set (C := mean n b (fun i => c i ^ 2)). set (Q := mean n b (fun i => ip (f i) (f i))).
  assert (HC : 0 <= C) by (apply mean_nonneg; [assumption|]; intros; nra).
  assert (HQ : 0 <= Q) by (apply mean_nonneg; [assumption|]; intros; apply ip_pos).
  assert (Hs : mean n b (fun i => c i * ip (f i) s) = norm_sq s).
  { unfold norm_sq, s at 2. rewrite ip_centre. apply mean_ext. intros. rewrite ip_scale. reflexivity. }
  assert (E : forall t, 0 <= C * norm_sq s + (- (2 * t) * norm_sq s + t * t * Q * 1)).
  { intros t. assert (Z : 0 <= mean n b (fun i => norm_sq (sub (scale (c i) s) (scale t (f i)))))
      by (apply mean_nonneg; [assumption|]; intros; apply ip_pos).
    rewrite (mean_ext n b _ (fun i => norm_sq s * (c i ^ 2) + (- (2 * t) * (c i * ip (f i) s) + t * t * ip (f i) (f i))))
      in Z by (intros; open_goal; rewrite (ip_sym _ s (f i)); ring).
    rewrite !mean_plus, !mean_times, Hs in Z. fold C Q in Z. lra. }
  pose proof (ip_pos _ s) as S0. fold (norm_sq s) in S0. destruct (Req_dec Q 0) as [z|z].
  - pose proof (E (C + 1)). rewrite z in *. assert (norm_sq s = 0) by nra. nra.
  - assert (0 < Q) by lra. destruct (Req_dec (norm_sq s) 0) as [y|y]; [rewrite y; nra|]. assert (0 < norm_sq s) by lra.
    pose proof (E (norm_sq s / Q)) as B.
    replace (C * norm_sq s + (- (2 * (norm_sq s / Q)) * norm_sq s + norm_sq s / Q * (norm_sq s / Q) * Q * 1))
      with (norm_sq s * (C - norm_sq s / Q)) in B by (field; lra).
    assert (0 <= C - norm_sq s / Q) by (apply (Rmult_le_reg_l (norm_sq s)); lra).
    apply (Rmult_le_reg_r (/ Q)); [apply Rinv_0_lt_compat; lra|].
    replace (C * Q * / Q) with C by (field; lra). unfold Rdiv in *. lra.
Qed.

(* Interpolation without the point that it is tilted at. *)
Lemma between (P : Problem) L mu i u v : smooth P L -> strongly_convex P mu -> mu <= L -> (i < N P)%nat ->
  norm_sq (sub (sub (grad P i v) (grad P i u)) (scale mu (sub v u)))
  <= 2 * (L - mu) * (F P i v - F P i u - ip (grad P i u) (sub v u) - mu / 2 * norm_sq (sub v u)).
Proof.
  intros Hs Hc HL Hi. pose proof (interpolation L mu u i u v Hs Hc HL Hi) as B.
  set (a := sub v u) in *. unfold tilt, level in B. fold a in B.
  assert (Z : forall y, ip (sub u u) y = 0) by (intros y; open_goal; ring).
  assert (Z' : forall y, ip y (sub u u) = 0) by (intros y; rewrite ip_sym; apply Z).
  replace (norm_sq (sub (sub (grad P i v) (scale mu a)) (sub (grad P i u) (scale mu (sub u u)))))
    with (norm_sq (sub (sub (grad P i v) (grad P i u)) (scale mu a))) in B.
  - eapply Rle_trans; [exact B|]. right.
    replace (ip (sub (grad P i u) (scale mu (sub u u))) a) with (ip (grad P i u) a)
      by (unfold sub at 1; rewrite ip_add, ip_scale, ip_scale, Z; ring).
    unfold norm_sq. rewrite Z. ring.
  - unfold norm_sq. set (z := sub u u) in *. unfold sub.
    repeat (rewrite ip_add || rewrite ip_add_r || rewrite ip_scale || rewrite ip_scale_r). rewrite ?Z, ?Z'.
    rewrite (ip_sym _ (grad P i u) (grad P i v)), (ip_sym _ a (grad P i v)), (ip_sym _ a (grad P i u)). ring.
Qed.

Ltac positive := first [lra | apply Rmult_lt_0_compat; positive | apply pow_lt; positive
  | apply Rinv_0_lt_compat; positive | apply Rplus_lt_le_0_compat; [positive | not_negative]
  | apply Rplus_le_lt_0_compat; [not_negative | positive] | nra]
with not_negative := first [lra | apply Rplus_le_le_0_compat; not_negative | apply Rmult_le_pos; not_negative
  | apply pow_le; not_negative | apply Rlt_le, Rinv_0_lt_compat; positive | nra].
Ltac open_fact := unfold tilt, level, excess, norm_sq, sub;
  repeat progress (rewrite ?ip_add, ?ip_scale, ?ip_add_r, ?ip_scale_r).
Ltac apart := repeat split; first [lra | apply Rgt_not_eq, Rlt_gt; positive].
