(* The local models of a run: each step goes on from those of the step before, unless they were averaged. *)
From Coq Require Import Reals Lra Lia Arith.
Require Import Space Model Horizon Rounds Facts Together Points Drift Inside Independent Drawn.
Open Scope R_scope.

Definition models_follow {P : Problem} (M M' : Step P) : Prop := taken M' = Datatypes.S (taken M) ->
  forall f : (nat -> V P) -> R, expected M' (fun c k => f (x M' c k))
  = expected M (fun c k => given_past M c k (fun s => f (fun i => sub (x M c k i) (scale (eta M) (g M c k s i))))).

(* The mean square distance of the models of a step, and of those after it. *)
Definition models {P : Problem} (M : Step P) : R :=
  expected M (fun c k => mean (N P) (p P) (fun i => norm_sq (sub (x M c k i) (w_star P)))).
Definition models_next {P : Problem} (M : Step P) : R := expected M (fun c k => given_past M c k (fun s =>
  mean (N P) (p P) (fun i => norm_sq (sub (sub (x M c k i) (scale (eta M) (g M c k s i))) (w_star P))))).
(* The same along a run, from one model at its start. *)
Definition models_at {P : Problem} (M : nat -> Step P) (t : nat) : R :=
  match t with O => Delta (M 0%nat) | Datatypes.S s => models_next (M s) end.

Section Models.
Context {P : Problem} (M : Step P).
Hypothesis ok : setting M.
Lemma weights_p c i : ratio_at_least M 1 -> ratio_at_most M 1 -> (c < H M)%nat -> (i < N P)%nat -> alpha M c i = p P i.
Proof. intros Hl Hm C Hi. pose proof (Hl c i C Hi). pose proof (Hm c i C Hi). lra. Qed.

Lemma models_begun : taken M = 0%nat -> models M = Delta M.
Proof.
  intros one. unfold models, Delta. apply (expected_ext M). intros c k C. destruct ok as (Hp & _).
  rewrite (mean_ext _ _ _ (fun _ => norm_sq (sub (w M c k) (w_star P)))) by (intros i Hi; rewrite (one_model M ok one c k i C Hi); reflexivity).
  apply mean_const. assumption.
Qed.
Lemma averaged_nearer : ratio_at_least M 1 -> ratio_at_most M 1 -> Delta_next M <= models_next M.
Proof.
  intros Hl Hm. pose proof ok as (Hp & _ & _ & _ & Ho & _). apply (expected_le M ok). intros c k C.
  apply mean_le; [apply (Ho c k C)|]. intros s _.
  set (f := fun i => sub (sub (x M c k i) (scale (eta M) (g M c k s i))) (w_star P)).
  replace (sub (w_next M c k s) (w_star P)) with (centre (N P) (p P) f); [apply (jensen _ _ f Hp)|].
  apply same_point. intros y. unfold f. rewrite ip_centre.
  rewrite (mean_ext _ _ _ (fun i => ip (sub (x M c k i) (scale (eta M) (g M c k s i))) y + - ip (w_star P) y)) by (intros; unfold sub; rewrite !ip_add, !ip_scale; ring).
  rewrite mean_plus, (mean_const _ _ _ Hp). unfold w_next. unfold sub at 2. rewrite ip_add, ip_scale, ip_centre.
  replace (mean (N P) (alpha M c) (fun i => ip (sub (x M c k i) (scale (eta M) (g M c k s i))) y))
    with (mean (N P) (p P) (fun i => ip (sub (x M c k i) (scale (eta M) (g M c k s i))) y)); [ring|].
  unfold mean. apply sum_ext. intros i Hi. rewrite (weights_p c i Hl Hm (proj1 C) Hi). reflexivity.
Qed.

(* A step without its noise, and what noise adds to it. *)
Definition moved c k i : V P := sub (sub (x M c k i) (scale (eta M) (grad P i (x M c k i)))) (w_star P).
Lemma models_after sigma_sq : bounded_variance M sigma_sq ->
  models_next M <= expected M (fun c k => mean (N P) (p P) (fun i => norm_sq (moved c k i))) + eta M ^ 2 * sigma_sq.
Proof.
  intros Hv. pose proof ok as (Hp & _ & _ & _ & Ho & Hz & _). rewrite <- (expected_const M ok (eta M ^ 2 * sigma_sq)), <- expected_plus.
  apply (expected_le M ok). intros c k C. pose proof (Ho c k C) as Hd. unfold given_past. rewrite mean_swap.
  rewrite <- (mean_const (N P) (p P) (eta M ^ 2 * sigma_sq) Hp), <- mean_plus. apply mean_le; [assumption|]. intros i Hi.
  rewrite (mean_ext _ _ _ (fun s => norm_sq (moved c k i) + ((- (2 * eta M)) * ip (xi M c k s i) (moved c k i) + eta M ^ 2 * norm_sq (xi M c k s i)))).
  - rewrite !mean_plus, !mean_times, (mean_const _ _ _ Hd). pose proof (Hz c k i (moved c k i) C Hi) as Z. unfold given_past in Z. rewrite Z.
    pose proof (Hv c k i C Hi) as B. unfold given_past in B. pose proof (Rmult_le_compat_l (eta M ^ 2) _ _ (pow2_ge_0 _) B). lra.
  - intros s _. set (m := moved c k i). set (n := xi M c k s i).
    assert (Q : forall y, ip (sub (sub (x M c k i) (scale (eta M) (g M c k s i))) (w_star P)) y = ip m y - eta M * ip n y)
      by (intros y; unfold m, n, moved, g, sub; rewrite ?ip_add, ?ip_scale, ?ip_add, ?ip_scale; ring).
    unfold norm_sq. rewrite Q, (ip_sym _ m), (ip_sym _ n), !Q, (ip_sym _ m n). ring.
Qed.
End Models.

(* What a step of gradients does to the distance from a point o, but for the gradient there. *)
Lemma contracted (P : Problem) L mu h i o v : smooth P L -> strongly_convex P mu -> mu <= L -> 0 <= h -> h * (L + mu) <= 2 ->
  (i < N P)%nat -> norm_sq (sub (sub v o) (scale h (sub (grad P i v) (grad P i o)))) <= (1 - h * mu) ^ 2 * norm_sq (sub v o).
Proof.
  intros Hs Hc HL Hh Hr Hi. pose proof (between P L mu i v o Hs Hc HL Hi) as A. pose proof (between P L mu i o v Hs Hc HL Hi) as B.
  pose proof (Hc i v o Hi) as C. pose proof (Hc i o v Hi) as D.
  set (a := grad P i v) in *. set (b := grad P i o) in *. set (q := sub v o) in *.
  assert (E : forall y, ip (sub o v) y = - ip q y) by (intros y; unfold q; open_fact; ring).
  assert (E' : forall y, ip y (sub o v) = - ip y q) by (intros y; rewrite !(ip_sym _ y), E; ring).
  unfold norm_sq in *. unfold sub in A, B, C, D |- *. fold (sub v o) in A, B, C, D |- *. fold (sub o v) in A, B, C, D.
  repeat (rewrite ip_add in * || rewrite ip_add_r in * || rewrite ip_scale in * || rewrite ip_scale_r in *).
  rewrite ?E, ?E' in *. fold q in A, B, C, D |- *. rewrite ?(ip_sym _ b a), ?(ip_sym _ q a), ?(ip_sym _ q b) in *. rewrite ?E, ?E' in *.
  pose proof (Rmult_le_pos h (2 - h * (L + mu)) Hh ltac:(lra)). nra.
Qed.
Lemma common_rest {P : Problem} (M : Step P) L : setting M -> smooth P L -> 0 <= L -> Gamma P = 0 ->
  forall i, (i < N P)%nat -> forall y, ip (grad P i (w_star P)) y = 0.
Proof.
  intros ok Hs HL HG i Hi y. pose proof ok as (Hp & Hpos & _ & _ & _ & _ & Hm & _).
  assert (G : forall n, (n <= N P)%nat -> 0 <= sum n (fun j => p P j * excess P j (w_star P))).
  { intros n Hn. rewrite <- (sum_zero n). apply sum_le. intros j Hj. apply Rmult_le_pos; [apply Rlt_le, Hpos; lia|]. apply (excess_nonneg M ok). lia. }
  assert (E : forall n, (n <= N P)%nat -> forall j, (j < n)%nat -> p P j * excess P j (w_star P) <= sum n (fun j => p P j * excess P j (w_star P))).
  { induction n as [|n IH]; intros Hn j Hj; [lia|]. simpl. pose proof (excess_nonneg M ok n (w_star P) ltac:(lia)) as X.
    pose proof (Rmult_le_pos _ _ (Rlt_le _ _ (Hpos n ltac:(lia))) X). destruct (Nat.eq_dec j n) as [e|e]; [subst; pose proof (G n ltac:(lia)); lra|].
    pose proof (IH ltac:(lia) j ltac:(lia)). lra. }
  assert (Z : forall j, (j < N P)%nat -> F P j (w_star P) <= F P j (w_i_star P j)).
  { intros j Hj. pose proof (E (N P) (le_n _) j Hj) as B. unfold Gamma, mean in HG. rewrite HG in B. pose proof (Hpos j Hj). unfold excess in B. nra. }
  refine (rest (Build_Problem (V P) (N P) (p P) (F P) (grad P) (w_star P) (fun _ => w_star P)) L i _ Hs HL Hi y).
  intros j v Hj. cbn in *. pose proof (Z j Hj). pose proof (Hm j v Hj). lra.
Qed.

Section Steps.
Context {P : Problem} (M : Step P) (L mu sigma_sq : R).
Hypotheses (ok : setting M) (Hs : smooth P L) (Hc : strongly_convex P mu) (HL : mu <= L) (H0 : 0 <= L)
  (Hr : eta M * (L + mu) <= 2) (Hv : bounded_variance M sigma_sq).
Lemma common_step : Gamma P = 0 -> models_next M <= (1 - eta M * mu) ^ 2 * models M + eta M ^ 2 * sigma_sq.
Proof.
  intros HG. pose proof (common_rest M L ok Hs H0 HG) as Z. eapply Rle_trans; [apply (models_after M ok sigma_sq Hv)|].
  apply Rplus_le_compat_r. unfold models. rewrite <- expected_times. apply (expected_le M ok). intros c k C.
  pose proof ok as (Hp & _ & _ & _ & _ & _ & _ & _ & He). rewrite <- mean_times. apply mean_le; [assumption|]. intros i Hi.
  pose proof (contracted P L mu (eta M) i (w_star P) (x M c k i) Hs Hc HL (Rlt_le _ _ He) Hr Hi) as B.
  replace (moved M c k i) with (sub (sub (x M c k i) (w_star P)) (scale (eta M) (sub (grad P i (x M c k i)) (grad P i (w_star P))))); [exact B|].
  apply same_point. intros y. unfold moved, sub. repeat (rewrite ip_add || rewrite ip_scale). rewrite (Z i Hi y). ring.
Qed.

(* Whatever the minimisers: the gradient at w* is parted from it, by Young's inequality. *)
Lemma minimisers_step : 0 < mu -> models_next M <= (1 - eta M * mu) * models M
  + eta M * / mu * mean (N P) (p P) (fun i => ip (grad P i (w_star P)) (grad P i (w_star P))) + eta M ^ 2 * sigma_sq.
Proof.
  intros Hmu. eapply Rle_trans; [apply (models_after M ok sigma_sq Hv)|]. apply Rplus_le_compat_r.
  pose proof ok as (Hp & _ & _ & _ & _ & _ & _ & _ & He). set (h := eta M) in *. set (q := 1 - h * mu).
  assert (Hq : 0 <= q) by (unfold q; nra).
  rewrite <- (expected_const M ok (h * / mu * mean (N P) (p P) (fun i => ip (grad P i (w_star P)) (grad P i (w_star P))))).
  unfold models. rewrite <- expected_times, <- expected_plus. apply (expected_le M ok). intros c k C.
  rewrite <- !mean_times, <- mean_plus. apply mean_le; [assumption|]. intros i Hi.
  pose proof (contracted P L mu h i (w_star P) (x M c k i) Hs Hc HL (Rlt_le _ _ He) Hr Hi) as B. fold q in B.
  set (b := grad P i (w_star P)) in *. set (D := norm_sq (sub (x M c k i) (w_star P))) in *.
  set (u := sub (sub (x M c k i) (w_star P)) (scale h (sub (grad P i (x M c k i)) b))) in *.
  assert (E : forall y, ip (moved M c k i) y = ip u y - h * ip b y)
    by (intros y; unfold moved, u, sub; fold h; repeat (rewrite ip_add || rewrite ip_scale); ring).
  unfold norm_sq at 1. rewrite E, (ip_sym _ u), (ip_sym _ b (moved M c k i)), !E, (ip_sym _ b u).
  unfold norm_sq in B. set (uu := ip u u) in *. set (ub := ip u b). set (bb := ip b b).
  assert (S : 0 <= (h * mu) ^ 2 * uu + 2 * (h * mu) * (q * h) * ub + (q * h) ^ 2 * bb).
  { pose proof (ip_pos _ (add (scale (h * mu) u) (scale (q * h) b))) as S.
    repeat (rewrite ip_add in S || rewrite ip_add_r in S || rewrite ip_scale in S || rewrite ip_scale_r in S).
    rewrite (ip_sym _ b u) in S. unfold uu, ub, bb. lra. }
  pose proof (ip_pos _ b) as Bb. fold bb in Bb. pose proof (ip_pos _ u) as Uu. fold uu in Uu.
  assert (Hh : 0 < h * mu) by (apply Rmult_lt_0_compat; assumption).
  destruct (Rle_lt_or_eq_dec 0 q Hq) as [Q|Z].
  - apply (Rmult_le_reg_l (q * (h * mu))); [apply Rmult_lt_0_compat; assumption|].
    replace (q * (h * mu) * (q * D + h * / mu * bb)) with ((h * mu) * (q ^ 2 * D) + q * h ^ 2 * bb) by (field; lra).
    pose proof (Rmult_le_compat_l (h * mu) _ _ (Rlt_le _ _ Hh) B) as B'.
    replace (q * (h * mu) * (uu - h * ub - h * (ub - h * bb)))
      with ((h * mu) * uu + q * h ^ 2 * bb - ((h * mu) ^ 2 * uu + 2 * (h * mu) * (q * h) * ub + (q * h) ^ 2 * bb)) by (unfold q; ring). lra.
  - assert (U0 : uu = 0) by (rewrite <- Z in B; simpl in B; lra). pose proof (ip_definite _ u U0) as U.
    assert (Ub : ub = 0) by (unfold ub; rewrite U; apply ip_zero). rewrite U0, Ub, <- Z.
    assert (hm : h * mu = 1) by (unfold q in Z; lra). replace (h * / mu) with (h ^ 2) by (replace (h ^ 2) with (h * (h * mu) * / mu) by (field; lra); rewrite hm; field; lra). lra.
Qed.
End Steps.

Section Along.
Context {P : Problem} (M : nat -> Step P) (T tau : nat).
Hypotheses (Ok : forall t, (t <= T)%nat -> setting (M t)) (Hf : forall t, (t < T)%nat -> follows (M t) (M (Datatypes.S t)))
  (some : (0 < tau)%nat) (Hr : rounds M T tau) (Hg : forall t, (t < T)%nat -> models_follow (M t) (M (Datatypes.S t)))
  (Hl : forall t, (t < T)%nat -> ratio_at_least (M t) 1) (Hm : forall t, (t < T)%nat -> ratio_at_most (M t) 1).
Lemma models_end : Delta (M T) <= models_at M T.
Proof.
  destruct T as [|t]; [simpl; lra|]. simpl. eapply Rle_trans; [right; exact (Hf t (Nat.lt_succ_diag_r t) (fun v => norm_sq (sub v (w_star P))))|].
  apply averaged_nearer; [apply Ok|apply Hl|apply Hm]; lia.
Qed.
Lemma models_now t : (t < T)%nat -> models (M t) <= models_at M t.
Proof.
  intros Ht. pose proof (Hr t Ht) as Hn. destruct t as [|t].
  - rewrite Nat.mod_0_l in Hn by lia. rewrite (models_begun (M 0%nat) (Ok 0%nat ltac:(lia)) Hn). right. reflexivity.
  - simpl. destruct (Nat.eq_dec (taken (M (Datatypes.S t))) 0) as [z|z].
    + rewrite (models_begun _ (Ok (Datatypes.S t) ltac:(lia)) z). eapply Rle_trans; [right; exact (Hf t ltac:(lia) (fun v => norm_sq (sub v (w_star P))))|].
      apply averaged_nearer; [apply Ok|apply Hl|apply Hm]; lia.
    + right. apply (Hg t ltac:(lia)) with (f := fun X => mean (N P) (p P) (fun i => norm_sq (sub (X i) (w_star P)))).
      rewrite Hn, (Hr t ltac:(lia)) in *. pose proof (Nat.mod_upper_bound t tau ltac:(lia)) as B. pose proof (Nat.div_mod t tau ltac:(lia)) as E.
      destruct (Nat.eq_dec (Datatypes.S (Nat.modulo t tau)) tau) as [e|e].
      * exfalso. apply z. replace (Datatypes.S t) with ((Nat.div t tau + 1) * tau)%nat by nia. apply Nat.mod_mul. lia.
      * symmetry. apply (Nat.mod_unique (Datatypes.S t) tau (Nat.div t tau)); lia.
Qed.
End Along.
