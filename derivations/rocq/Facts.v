(* Facts that several proofs share. *)
From Coq Require Import Reals Lra Lia.
Require Import Space Model.
Open Scope R_scope.

(* A quadratic that is never negative and vanishes at 0 has no slope there. *)
Lemma no_slope c q : 0 <= q -> (forall t, 0 <= t * c + t * t * q) -> c = 0.
Proof.
  intros Hq H. destruct (Req_dec c 0) as [|n]; [assumption|exfalso].
  destruct (Req_dec q 0) as [z|z].
  - subst q. pose proof (H (- c)) as B. nra.
  - assert (0 < q) by lra. pose proof (H (- c / (2 * q))) as B.
    replace (- c / (2 * q) * c + - c / (2 * q) * (- c / (2 * q)) * q) with (- (c * c) / (4 * q)) in B by (field; lra).
    assert (0 < c * c) by nra. assert (0 < c * c / (4 * q)) by (apply Rdiv_lt_0_compat; lra).
    replace (- (c * c) / (4 * q)) with (- (c * c / (4 * q))) in B by (field; lra). lra.
Qed.

(* At a minimiser of the mean the mean gradient vanishes. *)
Lemma stationary_at (P : Problem) L u : weights (N P) (p P) ->
  (forall v, mean (N P) (p P) (fun i => F P i (w_star P)) <= mean (N P) (p P) (fun i => F P i v)) ->
  smooth P L -> 0 <= L -> mean (N P) (p P) (fun i => ip (grad P i (w_star P)) u) = 0.
Proof.
  intros Hp Hopt Hs HL.
  apply (no_slope _ (L / 2 * norm_sq u)); [pose proof (ip_pos _ u); unfold norm_sq; nra|]. intros t.
  pose proof (Hopt (add (w_star P) (scale t u))) as Ho.
  assert (Hup : mean (N P) (p P) (fun i => F P i (add (w_star P) (scale t u))) <=
    mean (N P) (p P) (fun i => F P i (w_star P) + (t * ip (grad P i (w_star P)) u + t * t * (L / 2 * norm_sq u)))).
  { apply mean_le; [assumption|]. intros i Hi. eapply Rle_trans; [apply (Hs i (w_star P)); assumption|].
    right. bilinear. rewrite (ip_sym (V P) u (w_star P)). ring. }
  rewrite mean_plus, mean_plus, mean_times, (mean_const _ _ _ Hp) in Hup. lra.
Qed.

Section Shared.
Context {P : Problem} (M : Step P).
Hypothesis ok : setting M.

Lemma stationary L u : smooth P L -> 0 <= L -> mean (N P) (p P) (fun i => ip (grad P i (w_star P)) u) = 0.
Proof. destruct ok as (Hp & _ & _ & _ & _ & _ & _ & Hopt & _). apply stationary_at; assumption. Qed.

(* F grows from w*: sum p_i e_i(v) >= Gamma + mu/2 ||v - w*||^2. *)
Lemma growth L mu v : smooth P L -> 0 <= L -> strongly_convex P mu ->
  Gamma P + mu / 2 * norm_sq (sub v (w_star P)) <= mean (N P) (p P) (fun i => excess P i v).
Proof.
  intros Hs HL Hc. pose proof (stationary L (sub v (w_star P)) Hs HL) as Z.
  destruct ok as (Hp & _). unfold Gamma.
  rewrite <- (mean_const (N P) (p P) (mu / 2 * norm_sq (sub v (w_star P))) Hp).
  rewrite <- (Rplus_0_r (mean _ _ (fun i => excess P i (w_star P)))), <- Z, <- !mean_plus.
  apply mean_le; [assumption|]. intros i Hi. unfold excess. pose proof (Hc i (w_star P) v Hi). lra.
Qed.

Lemma excess_nonneg i v : (i < N P)%nat -> 0 <= excess P i v.
Proof. destruct ok as (_ & _ & _ & _ & _ & _ & Hm & _). intros Hi. unfold excess. pose proof (Hm i v Hi). lra. Qed.

(* Without heterogeneity no excess is left at w_star. *)
Lemma star_skew_free : Gamma P = 0 -> star_skew_at_most M 0.
Proof.
  intros Hg. destruct (ok) as (Hp & Hpos & _ & Hw & _). intros c C. rewrite Hg, Rmult_0_l.
  assert (Z : forall i, (i < N P)%nat -> excess P i (w_star P) = 0).
  { intros i Hi. pose proof (excess_nonneg i (w_star P) Hi) as E. destruct (Rle_lt_or_eq_dec _ _ E) as [Q|Q]; [exfalso|auto].
    assert (0 < Gamma P); [|lra]. unfold Gamma, mean.
    apply Rlt_le_trans with (p P i * excess P i (w_star P)); [apply Rmult_lt_0_compat; auto|].
    assert (K : forall n f, (forall j, (j < n)%nat -> 0 <= f j) -> (i < n)%nat -> f i <= sum n f).
    { clear. induction n as [|n IH]; intros f Hf Hi; [lia|]. simpl. destruct (Nat.eq_dec i n) as [e|e].
      - subst. assert (0 <= sum n f) by (rewrite <- (sum_zero n); apply sum_le; auto). lra.
      - assert (f i <= sum n f) by (apply IH; [auto|lia]). assert (0 <= f n) by auto. lra. }
    apply (K (N P) (fun j => p P j * excess P j (w_star P))); [|assumption].
    intros j Hj. apply Rmult_le_pos; [apply Rlt_le; auto|]. apply (excess_nonneg); assumption. }
  rewrite (mean_ext _ _ _ (fun _ => 0)) by auto. rewrite (mean_const _ _ _ (proj1 (Hw c C))). lra.
Qed.
(* Lemma 1 at any point. *)
Lemma gradient_gap L i v : smooth P L -> 0 < L -> (i < N P)%nat ->
  norm_sq (grad P i v) <= 2 * L * excess P i v.
Proof.
  destruct ok as (_ & _ & _ & _ & _ & _ & Hm & _). intros Hs HL Hi. unfold excess.
  pose proof (Hm i (sub v (scale (/ L) (grad P i v))) Hi) as A.
  pose proof (Hs i v (sub v (scale (/ L) (grad P i v))) Hi) as B.
  set (d := grad P i v) in *.
  replace (ip d (sub (sub v (scale (/ L) d)) v)) with (- / L * norm_sq d) in B by (bilinear; ring).
  replace (norm_sq (sub (sub v (scale (/ L) d)) v)) with (/ L * / L * norm_sq d) in B
    by (bilinear; rewrite (ip_sym (V P) v d); ring).
  replace (L / 2 * (/ L * / L * norm_sq d)) with (/ L * norm_sq d / 2) in B by (field; lra).
  assert (C : / L * norm_sq d <= 2 * (F P i v - F P i (w_i_star P i))) by lra.
  apply (Rmult_le_compat_l L) in C; [|lra]. replace (L * (/ L * norm_sq d)) with (norm_sq d) in C by (field; lra). lra.
Qed.

(* The step, expanded: the noise has mean zero given the past. *)
Lemma expand c k : seen M c k ->
  given_past M c k (fun s => norm_sq (sub (w_next M c k s) (w_star P)))
  = norm_sq (sub (w M c k) (w_star P))
    - 2 * eta M * mean (N P) (alpha M c) (fun i => ip (grad P i (x M c k i)) (sub (w M c k) (w_star P)))
    + eta M * eta M * given_past M c k (fun s => norm_sq (centre (N P) (alpha M c) (g M c k s))).
Proof.
  destruct ok as (_ & _ & _ & Hw & Ho & Hz & _). intros Hh. destruct (Hw c (proj1 Hh)) as [Ha _].
  pose proof (Ho c k Hh) as Hs.
  set (d := sub (w M c k) (w_star P)).
  assert (E : forall s, norm_sq (sub (w_next M c k s) (w_star P)) =
     norm_sq d + (- (2 * eta M) * mean (N P) (alpha M c) (fun i => ip (g M c k s i) d)
     + eta M * eta M * norm_sq (centre (N P) (alpha M c) (g M c k s)))).
  { intros s. rewrite <- ip_centre. set (v := centre (N P) (alpha M c) (g M c k s)).
    assert (Q : forall y, ip (sub (w_next M c k s) (w_star P)) y = ip d y - eta M * ip v y).
    { intros y. unfold d, sub. rewrite !ip_add, !ip_scale. unfold w_next, w, v. rewrite !ip_centre.
      rewrite (mean_ext _ _ _ (fun i => ip (x M c k i) y + (- eta M) * ip (g M c k s i) y)) by (intros; bilinear; ring).
      rewrite mean_plus, mean_times. ring. }
    unfold norm_sq. rewrite Q, (ip_sym _ d), (ip_sym _ v), !Q, (ip_sym _ d v). ring. }
  unfold given_past at 1. rewrite (mean_ext _ _ _ _ (fun s _ => E s)), mean_plus, mean_plus, !mean_times, (mean_const _ _ _ Hs).
  rewrite mean_swap.
  rewrite (mean_ext (N P) (alpha M c) _ (fun i => ip (grad P i (x M c k i)) d)); [unfold given_past; ring|].
  intros i Hi. unfold g.
  rewrite (mean_ext _ _ _ (fun s => ip (grad P i (x M c k i)) d + ip (xi M c k s i) d)) by (intros; bilinear; ring).
  rewrite mean_plus, (mean_const _ _ _ Hs). pose proof (Hz c k i d Hh Hi) as Z. unfold given_past in Z. rewrite Z. ring.
Qed.

(* The same with the noise apart: what full gradients do, and a variance. *)
Definition slope c k : V P := centre (N P) (alpha M c) (fun i => grad P i (x M c k i)).
Lemma expand_noise c k : seen M c k ->
  given_past M c k (fun s => norm_sq (sub (w_next M c k s) (w_star P)))
  = norm_sq (sub (sub (w M c k) (w_star P)) (scale (eta M) (slope c k)))
    + eta M * eta M * given_past M c k (fun s => norm_sq (centre (N P) (alpha M c) (xi M c k s))).
Proof.
  intros Hh. rewrite (expand c k Hh). destruct ok as (_ & _ & _ & Hw & Ho & Hz & _).
  destruct (Hw c (proj1 Hh)) as [Ha _]. pose proof (Ho c k Hh) as Hs. rewrite <- ip_centre. fold (slope c k).
  set (d := sub (w M c k) (w_star P)).
  assert (E : forall s, norm_sq (centre (N P) (alpha M c) (g M c k s)) =
    norm_sq (slope c k) + (2 * mean (N P) (alpha M c) (fun i => ip (xi M c k s i) (slope c k))
      + norm_sq (centre (N P) (alpha M c) (xi M c k s)))).
  { intros s. rewrite <- ip_centre. set (n := centre (N P) (alpha M c) (xi M c k s)).
    assert (Q : forall y, ip (centre (N P) (alpha M c) (g M c k s)) y = ip (slope c k) y + ip n y).
    { intros y. unfold n, slope. rewrite !ip_centre, <- mean_plus. apply mean_ext; intros. unfold g. apply ip_add. }
    unfold norm_sq. rewrite Q, (ip_sym _ (slope c k)), (ip_sym _ n), !Q, (ip_sym _ (slope c k) n). ring. }
  unfold given_past at 1. rewrite (mean_ext _ _ _ _ (fun s _ => E s)), !mean_plus, mean_times, (mean_const _ _ _ Hs), mean_swap.
  rewrite (mean_ext (N P) (alpha M c) (fun i => mean _ _ (fun s => ip (xi M c k s i) (slope c k))) (fun _ => 0)).
  2:{ intros i Hi. apply (Hz c k i (slope c k) Hh Hi). }
  rewrite (mean_const _ _ _ Ha). unfold given_past, norm_sq. unfold sub.
  rewrite !ip_add, !ip_add_r, !ip_scale, !ip_scale_r, (ip_sym _ d (slope c k)). ring.
Qed.
Lemma noise_bound sigma_sq c k : seen M c k -> bounded_variance M sigma_sq ->
  given_past M c k (fun s => norm_sq (centre (N P) (alpha M c) (xi M c k s))) <= sigma_sq.
Proof.
  intros Hh Hv. destruct ok as (_ & _ & _ & Hw & Ho & _). destruct (Hw c (proj1 Hh)) as [Ha _]. pose proof (Ho c k Hh) as Hs.
  eapply Rle_trans; [apply mean_le; [assumption|]; intros s _; apply jensen; assumption|].
  rewrite mean_swap, <- (mean_const (N P) (alpha M c) sigma_sq Ha). apply mean_le; [assumption|].
  intros i Hi. apply (Hv c k i Hh Hi).
Qed.

(* Interpolation: with h = F_i - mu/2 ||. - o||^2, whose gradient at v is grad - mu (v - o),
   ||h'(v) - h'(u)||^2 <= 2 (L - mu) (h(v) - h(u) - <h'(u), v - u>). *)
Definition tilt mu (o : V P) i v : V P := sub (grad P i v) (scale mu (sub v o)).
Definition level mu (o : V P) i v : R := F P i v - mu / 2 * norm_sq (sub v o).
Lemma interpolation L mu o i u v : smooth P L -> strongly_convex P mu -> mu <= L -> (i < N P)%nat ->
  norm_sq (sub (tilt mu o i v) (tilt mu o i u))
  <= 2 * (L - mu) * (level mu o i v - level mu o i u - ip (tilt mu o i u) (sub v u)).
Proof.
  intros Hs Hc HL Hi. set (d := sub (tilt mu o i v) (tilt mu o i u)).
  set (B := level mu o i v - level mu o i u - ip (tilt mu o i u) (sub v u)).
  assert (Q : forall t, 0 <= B - t * norm_sq d + (L - mu) / 2 * (t * t * norm_sq d)).
  { intros t. set (z := sub v (scale t d)).
    pose proof (Hc i u z Hi) as A1. pose proof (Hs i v z Hi) as A2.
    assert (A3 : level mu o i u + ip (tilt mu o i u) (sub z u) <= level mu o i z).
    { unfold level, tilt. eapply Rle_trans; [|apply Rplus_le_compat_r; exact A1]. right.
      open_goal.
      rewrite (ip_sym (V P) z u), (ip_sym (V P) z o), (ip_sym (V P) u o). field. }
    assert (A4 : level mu o i z <= level mu o i v + ip (tilt mu o i v) (sub z v) + (L - mu) / 2 * norm_sq (sub z v)).
    { unfold level, tilt. eapply Rle_trans; [apply Rplus_le_compat_r; exact A2|]. right.
      open_goal.
      rewrite (ip_sym (V P) z v), (ip_sym (V P) z o), (ip_sym (V P) v o). field. }
    assert (A5 : ip (tilt mu o i v) (sub z v) = - t * ip (tilt mu o i v) d)
      by (unfold z; open_goal; ring).
    assert (A6 : norm_sq (sub z v) = t * t * norm_sq d)
      by (unfold z; open_goal; rewrite (ip_sym _ d v); ring).
    assert (A7 : ip (tilt mu o i u) (sub z u) = ip (tilt mu o i u) (sub v u) - t * ip (tilt mu o i u) d)
      by (unfold z; open_goal; ring).
    assert (A8 : norm_sq d = ip (tilt mu o i v) d - ip (tilt mu o i u) d)
      by (unfold norm_sq; unfold d at 1; unfold sub; rewrite ip_add, ip_scale; ring).
    rewrite A5, A6 in A4. rewrite A7 in A3. unfold B. rewrite A8 at 1. lra. }
  pose proof (ip_pos _ d) as D0. fold (norm_sq d) in D0.
  destruct (Req_dec L mu) as [e|n].
  - assert (norm_sq d = 0).
    { destruct (Req_dec (norm_sq d) 0); [assumption|exfalso]. pose proof (Q ((B + 1) / norm_sq d)) as X. rewrite e in X.
      replace ((B + 1) / norm_sq d * norm_sq d) with (B + 1) in X by (field; assumption). lra. }
    rewrite e. lra.
  - assert (0 < L - mu) by lra. pose proof (Q (/ (L - mu))) as X.
    replace ((L - mu) / 2 * (/ (L - mu) * / (L - mu) * norm_sq d)) with (/ (L - mu) * norm_sq d / 2) in X by (field; lra).
    assert (Y : / (L - mu) * norm_sq d <= 2 * B) by lra.
    apply (Rmult_le_compat_l (L - mu)) in Y; [|lra].
    replace ((L - mu) * (/ (L - mu) * norm_sq d)) with (norm_sq d) in Y by (field; lra). lra.
Qed.

Lemma expected_le f q : (forall c k, seen M c k -> f c k <= q c k) -> expected M f <= expected M q.
Proof.
  destruct ok as (_ & _ & Hc & Hw & _). intros Q. apply mean_le; [assumption|]. intros c C.
  apply mean_le; [apply (Hw c C)|]. intros k Hk. apply Q. split; assumption.
Qed.
Lemma expected_plus f q : expected M (fun c k => f c k + q c k) = expected M f + expected M q.
Proof. unfold expected. rewrite <- mean_plus. apply mean_ext; intros. apply mean_plus. Qed.
Lemma expected_times a f : expected M (fun c k => a * f c k) = a * expected M f.
Proof. unfold expected. rewrite <- mean_times. apply mean_ext; intros. apply mean_times. Qed.
Lemma expected_const a : expected M (fun _ _ => a) = a.
Proof.
  destruct ok as (_ & _ & Hc & Hw & _). unfold expected.
  rewrite (mean_ext _ _ _ (fun _ => a)) by (intros c C; apply mean_const; apply (Hw c C)). apply mean_const; assumption.
Qed.
End Shared.
Ltac by_history M ok := rewrite <- ?(expected_times M), <- ?(expected_plus M).
