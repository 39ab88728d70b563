(* What the bounds over a horizon share: a run's steps, the drift inside a round, and the induction. *)
From Coq Require Import Reals Lra Lia Arith.
Require Import Space Model Facts Drift Horizon.
Open Scope R_scope.

(* The bound that a recursion with steps 1/(mu (t + gamma)) leaves: Delta_T <= v/(T + gamma) + rest. *)
Lemma induct (Delta : nat -> R) (T : nat) (gamma b c v rest d : R) :
  0 < gamma -> b <= gamma -> 0 <= v -> 0 <= rest -> d <= b * rest -> gamma * Delta 0%nat <= v -> c <= (b - 1) * v ->
  (forall t, (t < T)%nat ->
     Delta (Datatypes.S t) <= (1 - b / (INR t + gamma)) * Delta t + c / (INR t + gamma) ^ 2 + d / (INR t + gamma)) ->
  Delta T <= v / (INR T + gamma) + rest.
Proof.
  intros Hg Hb V Hrest Hd H0 Hc Hrec.
  assert (Q : forall t, (t <= T)%nat -> Delta t <= v / (INR t + gamma) + rest).
  { induction t as [|t IH]; intros Ht.
    - simpl INR. rewrite Rplus_0_l. assert (Delta 0%nat <= v / gamma); [|lra].
      apply (Rmult_le_reg_l gamma); [assumption|]. replace (gamma * (v / gamma)) with v by (field; lra). assumption.
    - specialize (IH ltac:(lia)). specialize (Hrec t ltac:(lia)). rewrite S_INR.
      pose proof (pos_INR t) as P. set (k := INR t + gamma) in *. assert (K : gamma <= k) by (unfold k; lra).
      replace (INR t + 1 + gamma) with (k + 1) by (unfold k; ring). assert (K0 : 0 < / k) by (apply Rinv_0_lt_compat; lra).
      assert (F : 0 <= 1 - b / k).
      { assert (b / k <= 1); [|lra]. apply (Rmult_le_reg_l k); [lra|]. replace (k * (b / k)) with b by (field; lra). lra. }
      assert (X : (1 - b / k) * Delta t <= (1 - b / k) * (v / k + rest)) by (apply Rmult_le_compat_l; assumption).
      assert (Y : c / k ^ 2 <= (b - 1) * v / k ^ 2).
      { apply Rmult_le_compat_r; [|assumption]. apply Rlt_le, Rinv_0_lt_compat. apply pow_lt. lra. }
      assert (W : d / k <= b * rest / k) by (apply Rmult_le_compat_r; lra).
      assert (E : (1 - b / k) * (v / k + rest) + (b - 1) * v / k ^ 2 + b * rest / k
        = v / (k + 1) - v * / (k ^ 2 * (k + 1)) + rest) by (field; lra).
      assert (0 <= v * / (k ^ 2 * (k + 1))).
      { apply Rmult_le_pos; [assumption|]. apply Rlt_le, Rinv_0_lt_compat. apply Rmult_lt_0_compat; [apply pow_lt|]; lra. }
      lra. }
  apply Q. lia.
Qed.

Section Weaker.
Context {P : Problem} (M : Step P).
Hypothesis ok : setting M.
Lemma Gamma_nonneg : 0 <= Gamma P.
Proof. destruct (ok) as (Hp & _). apply mean_nonneg; [assumption|]. intros; apply (excess_nonneg M ok); assumption. Qed.
Lemma weaker_skew r rho : r <= rho -> skew_at_least M rho -> skew_at_least M r.
Proof.
  intros Hr H c k Hck. eapply Rle_trans; [|apply (H c k Hck)]. apply Rmult_le_compat_r; [|assumption].
  destruct (ok) as (Hp & _). apply mean_nonneg; [assumption|]. intros; apply (excess_nonneg M ok); assumption.
Qed.
Lemma weaker_star r rho : rho <= r -> star_skew_at_most M rho -> star_skew_at_most M r.
Proof.
  intros Hr H c Hc. eapply Rle_trans; [apply (H c Hc)|]. apply Rmult_le_compat_r; [apply Gamma_nonneg|assumption].
Qed.
Lemma Delta_nonneg : 0 <= Delta M.
Proof. rewrite <- (expected_const M ok 0). apply (expected_le M ok). intros; apply ip_pos. Qed.
Lemma drift_nonneg : 0 <= drift M.
Proof.
  destruct (ok) as (_ & _ & _ & Hw & _). rewrite <- (expected_const M ok 0). apply (expected_le M ok). intros c k C.
  apply mean_nonneg; [apply (Hw c (proj1 C))|]. intros; apply ip_pos.
Qed.
End Weaker.

Section Near.
Context {P : Problem} (M : Step P).
Hypothesis ok : setting M.
Variables (L mu G_sq : R).
Hypotheses (Hs : smooth P L) (HL : 0 < L) (Hc : strongly_convex P mu) (Hmu : 0 < mu).

Lemma own_slope i u : (i < N P)%nat -> ip (grad P i (w_i_star P i)) u = 0.
Proof.
  intros Hi. destruct ok as (_ & _ & _ & _ & _ & _ & Hm & _).
  apply (no_slope _ (L / 2 * norm_sq u)); [pose proof (ip_pos _ u); unfold norm_sq; nra|]. intros t.
  pose proof (Hm i (add (w_i_star P i) (scale t u)) Hi) as A.
  pose proof (Hs i (w_i_star P i) (add (w_i_star P i) (scale t u)) Hi) as B.
  replace (ip (grad P i (w_i_star P i)) (sub (add (w_i_star P i) (scale t u)) (w_i_star P i)))
    with (t * ip (grad P i (w_i_star P i)) u) in B by (open_goal; ring).
  replace (norm_sq (sub (add (w_i_star P i) (scale t u)) (w_i_star P i))) with (t * t * norm_sq u) in B
    by (open_goal; rewrite (ip_sym (V P) u (w_i_star P i)); ring). lra.
Qed.
(* Where the gradient is small, the client's own minimiser is near. *)
Lemma near i v : (i < N P)%nat -> mu * mu * norm_sq (sub v (w_i_star P i)) <= norm_sq (grad P i v).
Proof.
  intros Hi. set (o := w_i_star P i). pose proof (Hc i v o Hi) as A. pose proof (Hc i o v Hi) as B.
  pose proof (own_slope i (sub v o) Hi) as Z. fold o in Z. rewrite Z in B.
  replace (ip (grad P i v) (sub o v)) with (- ip (grad P i v) (sub v o)) in A by (open_goal; ring).
  replace (norm_sq (sub o v)) with (norm_sq (sub v o)) in A by (open_goal; rewrite (ip_sym (V P) v o); ring).
  pose proof (ip_pos _ (sub (grad P i v) (scale mu (sub v o)))) as Q.
  replace (ip (sub (grad P i v) (scale mu (sub v o))) (sub (grad P i v) (scale mu (sub v o))))
    with (norm_sq (grad P i v) - 2 * mu * ip (grad P i v) (sub v o) + mu * mu * norm_sq (sub v o)) in Q.
  2:{ generalize (grad P i v) (sub v o). intros g0 d. open_goal. rewrite (ip_sym (V P) d g0). ring. }
  assert (mu * (mu * norm_sq (sub v o)) <= mu * ip (grad P i v) (sub v o)) by (apply Rmult_le_compat_l; lra). lra.
Qed.
(* A mean of squares is at least the square of the mean. *)
Lemma moment n a (f : nat -> V P) (m : V P) : weights n a -> (forall y, mean n a (fun k => ip (f k) y) = ip m y) ->
  norm_sq m <= mean n a (fun k => norm_sq (f k)).
Proof.
  intros Ha Hm. assert (Q : 0 <= mean n a (fun k => norm_sq (f k) + ((-2) * ip (f k) m + norm_sq m))).
  { apply mean_nonneg; [assumption|]. intros k _. pose proof (ip_pos _ (sub (f k) m)) as S. unfold sub in S.
    repeat (rewrite ?ip_add, ?ip_add_r, ?ip_scale, ?ip_scale_r in S). rewrite (ip_sym _ m (f k)) in S. unfold norm_sq. lra. }
  rewrite !mean_plus, mean_times, Hm, (mean_const _ _ _ Ha) in Q. unfold norm_sq in *. lra.
Qed.

Definition unbiased_start : Prop := forall c i y, (c < H M)%nat -> (i < N P)%nat -> (0 < taken M)%nat ->
  since_start M c (fun k => ip (past M c k 0 i) y) = ip (grad P i (begin M c)) y.
Lemma wandered c k i : bounded_gradient M G_sq -> unbiased_start -> 0 <= G_sq -> seen M c k -> (i < N P)%nat ->
  mu * mu * norm_sq (sub (x M c k i) (begin M c)) <= 4 * G_sq.
Proof.
  intros [HG Hpast] Hun HG0 Hck Hi. destruct (ok) as (_ & _ & _ & Hw & Ho & Hz & _).
  destruct (Nat.eq_dec (taken M) 0) as [n|n].
  - assert (E : norm_sq (sub (x M c k i) (begin M c)) = 0).
    { unfold x. rewrite n. simpl. open_goal. ring. }
    rewrite E. lra.
  - set (o := w_i_star P i).
    assert (A : mu * mu * norm_sq (sub (x M c k i) o) <= G_sq).
    { eapply Rle_trans; [apply near; assumption|]. eapply Rle_trans; [|apply (HG c k i Hck Hi)].
      apply moment; [apply (Ho c k Hck)|]. intros y. unfold g.
      rewrite (mean_ext _ _ _ (fun s => ip (grad P i (x M c k i)) y + ip (xi M c k s i) y)) by (intros; apply ip_add).
      rewrite mean_plus, (mean_const _ _ _ (Ho c k Hck)). pose proof (Hz c k i y Hck Hi) as Z. unfold given_past in Z. rewrite Z. ring. }
    assert (B : mu * mu * norm_sq (sub (begin M c) o) <= G_sq).
    { eapply Rle_trans; [apply near; assumption|]. eapply Rle_trans; [|apply (Hpast c 0%nat i (proj1 Hck)); [lia|assumption]].
      apply (moment _ _ (fun k => past M c k 0 i)); [apply (Hw c (proj1 Hck))|]. intros y. apply Hun; [apply Hck|assumption|lia]. }
    pose proof (ip_pos _ (add (sub (x M c k i) o) (sub (begin M c) o))) as Q.
    assert (E : norm_sq (sub (x M c k i) (begin M c)) + ip (add (sub (x M c k i) o) (sub (begin M c) o)) (add (sub (x M c k i) o) (sub (begin M c) o))
      = 2 * norm_sq (sub (x M c k i) o) + 2 * norm_sq (sub (begin M c) o)).
    { generalize (x M c k i) (begin M c) o. intros x0 b o0. open_goal.
      rewrite (ip_sym (V P) b x0), (ip_sym (V P) o0 x0), (ip_sym (V P) o0 b). ring. }
    assert (mu * mu * norm_sq (sub (x M c k i) (begin M c)) <= mu * mu * (2 * norm_sq (sub (x M c k i) o) + 2 * norm_sq (sub (begin M c) o)))
      by (apply Rmult_le_compat_l; [apply Rmult_le_pos; lra|lra]). lra.
Qed.
Lemma drift_near : bounded_gradient M G_sq -> unbiased_start -> 0 <= G_sq -> drift M <= 4 * G_sq / (mu * mu).
Proof.
  intros HG Hun HG0. rewrite <- (expected_const M ok (4 * G_sq / (mu * mu))). unfold drift.
  destruct (ok) as (_ & _ & _ & Hw & _). apply (expected_le M ok). intros c k Hck. destruct (Hw c (proj1 Hck)) as [Ha _].
  eapply Rle_trans with (mean (N P) (alpha M c) (fun i => norm_sq (sub (x M c k i) (begin M c)))).
  - rewrite (spread (N P) (alpha M c) (x M c k) (begin M c) Ha). fold (w M c k).
    pose proof (ip_pos (V P) (sub (w M c k) (begin M c))). unfold norm_sq. lra.
  - rewrite <- (mean_const (N P) (alpha M c) (4 * G_sq / (mu * mu)) Ha). apply mean_le; [assumption|]. intros i Hi.
    pose proof (wandered c k i HG Hun HG0 Hck Hi) as W. assert (m2 : 0 < mu * mu) by (apply Rmult_lt_0_compat; assumption).
    apply (Rmult_le_reg_l (mu * mu)); [assumption|]. replace (mu * mu * (4 * G_sq / (mu * mu))) with (4 * G_sq) by (field; lra). assumption.
Qed.
End Near.

Section Along.
Context {P : Problem} (M : nat -> Step P) (T tau : nat).
Hypothesis ok : run M T tau.
Variables (L mu : R).
Hypotheses (Hs : smooth P L) (HL : 0 < L) (Hc : strongly_convex P mu) (Hmu : 0 < mu).

Lemma next_of t : (t < T)%nat -> Delta (M (Datatypes.S t)) = Delta_next (M t).
Proof. intros Ht. destruct ok as (_ & Hf & _). apply (Hf t Ht (fun v => norm_sq (sub v (w_star P)))). Qed.

Lemma at_the_end : gap_t (M T) <= L / 2 * Delta (M T).
Proof.
  destruct ok as (Hset & _). pose proof (Hset T (le_n T)) as S. unfold gap_t, Delta. rewrite <- (expected_times (M T)).
  apply (expected_le (M T) S). intros c k Hck. destruct (S) as (Hp & _). set (d := sub (w (M T) c k) (w_star P)).
  pose proof (stationary (M T) S L d Hs ltac:(lra)) as Z.
  assert (U : mean (N P) (p P) (fun i => F P i (w (M T) c k)) <=
    mean (N P) (p P) (fun i => F P i (w_star P) + (ip (grad P i (w_star P)) d + L / 2 * norm_sq d))).
  { apply mean_le; [assumption|]. intros i Hi. pose proof (Hs i (w_star P) (w (M T) c k) Hi) as A. unfold d. lra. }
  rewrite !mean_plus, Z, (mean_const _ _ _ Hp) in U. lra.
Qed.

Lemma horizon gamma b c d v rest : 0 < gamma -> b <= gamma -> 0 <= v -> 0 <= rest -> d <= b * rest ->
  gamma * Delta (M 0%nat) <= v -> c <= (b - 1) * v ->
  (forall t, (t < T)%nat -> Delta_next (M t) <=
     (1 - b / (INR t + gamma)) * Delta (M t) + c / (INR t + gamma) ^ 2 + d / (INR t + gamma)) ->
  gap_t (M T) <= L / 2 * (v / (INR T + gamma) + rest).
Proof.
  intros Hg Hb V R0 Hd H0 Hv Hrec. eapply Rle_trans; [apply at_the_end|]. apply Rmult_le_compat_l; [lra|].
  apply (induct (fun t => Delta (M t)) T gamma b c v rest d); try assumption.
  intros t Ht. rewrite (next_of t Ht). apply Hrec; assumption.
Qed.

(* Lemma 2 for steps 1/(mu (t + gamma)), whatever tau: the ball is small early, and steps shrink slowly late. *)
Lemma drift_schedule gamma G_sq t : (t < T)%nat -> 0 < gamma -> (forall s, (s <= t)%nat -> eta (M s) = / (mu * (INR s + gamma))) ->
  bounded_gradient (M t) G_sq -> 0 <= G_sq -> drift (M t) <= 16 * (eta (M t)) ^ 2 * (INR tau) ^ 2 * G_sq.
Proof.
  intros Ht Hg He HG HG0. destruct ok as (Hset & _ & Hr). pose proof (Hset t ltac:(lia)) as S.
  destruct (Hr t Ht) as (Hin & Hle & Hbefore & Hun). pose proof (pos_INR t) as T0. pose proof (pos_INR tau) as U0.
  assert (K : 0 < INR t + gamma) by lra. rewrite (He t (le_n t)).
  destruct (Rle_or_lt (INR t + gamma) (2 * INR tau)) as [low|high].
  - eapply Rle_trans; [apply (drift_near (M t) S L mu G_sq Hs HL Hc Hmu HG Hun HG0)|].
    replace (16 * (/ (mu * (INR t + gamma))) ^ 2 * INR tau ^ 2 * G_sq)
      with (4 * G_sq / (mu * mu) * ((2 * INR tau) ^ 2 * / (INR t + gamma) ^ 2)) by (field; lra).
    rewrite <- (Rmult_1_r (4 * G_sq / (mu * mu))) at 1. apply Rmult_le_compat_l.
    + apply Rmult_le_pos; [lra|]. apply Rlt_le, Rinv_0_lt_compat, Rmult_lt_0_compat; assumption.
    + assert (K2 : 0 < (INR t + gamma) ^ 2) by (apply pow_lt; assumption).
      apply (Rmult_le_reg_r ((INR t + gamma) ^ 2)); [assumption|]. rewrite Rmult_assoc, Rinv_l by lra.
      assert ((INR t + gamma) ^ 2 <= (2 * INR tau) ^ 2) by (apply pow_incr; lra). lra.
  - assert (Slow : steps_within (M t) 2).
    { intros s Hs'. rewrite (Hbefore s Hs'). set (n := taken (M t)) in *. unfold in_round in Hin. fold n in Hin.
      rewrite (He (t - n + s)%nat) by lia. rewrite (He t (le_n t)).
      assert (A : INR t - INR tau <= INR (t - n + s)).
      { rewrite plus_INR, minus_INR by lia. assert (INR n <= INR tau) by (apply le_INR; lia). pose proof (pos_INR s). lra. }
      set (q := INR (t - n + s) + gamma) in *. assert (Q : INR t + gamma <= 2 * q) by (unfold q; lra).
      assert (Q0 : 0 < q) by lra. assert (D : 0 < mu * q) by (apply Rmult_lt_0_compat; assumption).
      split; [apply Rinv_0_lt_compat; assumption|].
      assert (D2 : 0 < mu * (INR t + gamma)) by (apply Rmult_lt_0_compat; assumption).
      apply (Rmult_le_reg_l (mu * q)); [assumption|]. rewrite Rinv_r by lra.
      replace (mu * q * (2 * / (mu * (INR t + gamma)))) with (2 * q * / (INR t + gamma)) by (field; lra).
      apply (Rmult_le_reg_r (INR t + gamma)); [assumption|]. rewrite Rmult_assoc, Rinv_l by lra. lra. }
    pose proof (drift_bound (M t) S G_sq 2 tau HG ltac:(lra) Slow (Nat.lt_le_incl _ _ Hin)) as B. rewrite (He t (le_n t)) in B.
    eapply Rle_trans; [exact B|].
    assert (0 <= (/ (mu * (INR t + gamma))) ^ 2 * (INR tau) ^ 2 * G_sq)
      by (apply Rmult_le_pos; [apply Rmult_le_pos; apply pow2_ge_0|assumption]). lra.
Qed.
End Along.

(* The same for a recursion with the factor 1 - 1/(t + gamma) in front. *)
Lemma induct_kept (Delta : nat -> R) (T : nat) (gamma r n v rest d : R) :
  1 <= gamma -> r <= gamma -> 0 <= v -> 0 <= rest -> d = (1 + r) * rest -> gamma * Delta 0%nat <= v -> n <= r * v ->
  (forall t, (t < T)%nat -> Delta (Datatypes.S t) <= (1 - 1 / (INR t + gamma)) *
     ((1 - r / (INR t + gamma)) * Delta t + n / (INR t + gamma) ^ 2 + d / (INR t + gamma))) ->
  Delta T <= v / (INR T + gamma) + rest.
Proof.
  intros Hg Hr V Hrest Hd H0 Hn Hrec.
  assert (Q : forall t, (t <= T)%nat -> Delta t <= v / (INR t + gamma) + rest).
  { induction t as [|t IH]; intros Ht.
    - simpl INR. rewrite Rplus_0_l. assert (Delta 0%nat <= v / gamma); [|lra].
      apply (Rmult_le_reg_l gamma); [lra|]. replace (gamma * (v / gamma)) with v by (field; lra). assumption.
    - specialize (IH ltac:(lia)). specialize (Hrec t ltac:(lia)). rewrite S_INR.
      pose proof (pos_INR t) as P. set (k := INR t + gamma) in *. assert (K : gamma <= k) by (unfold k; lra).
      replace (INR t + 1 + gamma) with (k + 1) by (unfold k; ring). assert (K0 : 0 < / k) by (apply Rinv_0_lt_compat; lra).
      assert (F : 0 <= 1 - r / k).
      { assert (r / k <= 1); [|lra]. apply (Rmult_le_reg_l k); [lra|]. replace (k * (r / k)) with r by (field; lra). lra. }
      assert (F1 : 0 <= 1 - 1 / k).
      { assert (1 / k <= 1); [|lra]. apply (Rmult_le_reg_l k); [lra|]. replace (k * (1 / k)) with 1 by (field; lra). lra. }
      assert (X : (1 - r / k) * Delta t <= (1 - r / k) * (v / k + rest)) by (apply Rmult_le_compat_l; assumption).
      assert (Y : n / k ^ 2 <= r * v / k ^ 2).
      { apply Rmult_le_compat_r; [|assumption]. apply Rlt_le, Rinv_0_lt_compat. apply pow_lt. lra. }
      eapply Rle_trans; [exact Hrec|].
      eapply Rle_trans with ((1 - 1 / k) * ((1 - r / k) * (v / k + rest) + r * v / k ^ 2 + d / k)); [apply Rmult_le_compat_l; lra|].
      rewrite Hd.
      assert (E : (1 - 1 / k) * ((1 - r / k) * (v / k + rest) + r * v / k ^ 2 + (1 + r) * rest / k)
        = v / (k + 1) - v * / (k ^ 2 * (k + 1)) + rest - rest * / k ^ 2) by (field; lra).
      assert (0 <= v * / (k ^ 2 * (k + 1))).
      { apply Rmult_le_pos; [assumption|]. apply Rlt_le, Rinv_0_lt_compat. apply Rmult_lt_0_compat; [apply pow_lt|]; lra. }
      assert (0 <= rest * / k ^ 2) by (apply Rmult_le_pos; [assumption|]; apply Rlt_le, Rinv_0_lt_compat, pow_lt; lra).
      lra. }
  apply Q. lia.
Qed.
