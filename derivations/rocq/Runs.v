(* What proofs about runs and rounds that are found rest on. *)
From Coq Require Import Reals Lra Lia Arith.
Require Import Space Model Horizon Rounds Facts Together Drift Inside Independent Points Combine Drawn.
Open Scope R_scope.

(* Numbers that are not negative, or positive, on sight. *)
Ltac nonneg := match goal with
  | |- 0 <= _ + _ => apply Rplus_le_le_0_compat; nonneg
  | |- 0 <= _ * _ => apply Rmult_le_pos; nonneg
  | |- 0 <= / _ => apply Rlt_le, Rinv_0_lt_compat; positive
  | |- 0 <= _ ^ 2 => apply pow2_ge_0
  | |- 0 <= _ ^ _ => apply pow_le; nonneg
  | |- _ => first [assumption | apply pos_INR | lra] end
with positive := match goal with
  | |- 0 < _ + _ => first [apply Rplus_lt_le_0_compat; [positive | nonneg] | apply Rplus_le_lt_0_compat; [nonneg | positive]]
  | |- 0 < _ * _ => apply Rmult_lt_0_compat; positive
  | |- 0 < / _ => apply Rinv_0_lt_compat; positive
  | |- 0 < _ ^ _ => apply pow_lt; positive
  | |- _ => first [assumption | lra] end.

Ltac divisor := first [positive | lra | nra].
Ltac apart_from_zero := repeat split; apply Rgt_not_eq; unfold Rgt; first [assumption | positive | lra | nra].

Lemma sum_nonneg n f : (forall i, (i < n)%nat -> 0 <= f i) -> 0 <= sum n f.
Proof. intros Hf. rewrite <- (sum_zero n). apply sum_le. assumption. Qed.
Lemma sum_positive n f : (0 < n)%nat -> (forall i, (i < n)%nat -> 0 < f i) -> 0 < sum n f.
Proof.
  intros Hn Hf. destruct n as [|n]; [lia|]. simpl. pose proof (Hf n ltac:(lia)).
  assert (0 <= sum n f) by (apply sum_nonneg; intros i Hi; apply Rlt_le, Hf; lia). lra.
Qed.
Lemma base_zero (x : R) : x ^ 0 = 1.
Proof. reflexivity. Qed.

(* Losses that have no minimisers of their own: everything that is not about losses holds of the same steps with losses
   that are 0. *)
Definition flat (P : Problem) : Problem := Build_Problem (V P) (N P) (p P) (fun _ _ => 0) (grad P) (w_star P) (w_i_star P).
Definition flatten {P : Problem} (M : Step P) : Step (flat P) :=
  Build_Step (flat P) (H M) (chance M) (alpha M) (begin M) (taken M) (before M) (K M) (luck M) (past M) (S M) (odds M) (xi M) (eta M).
Lemma flat_setting {P : Problem} (M : Step P) : convex_setting M -> setting (flatten M).
Proof.
  intros (Hp & Hpos & Hh & Hw & Ho & Hz & _ & He). unfold setting. cbn.
  repeat split; try assumption; try (apply Hw; assumption); try (intros; lra); try apply Hp; try apply Hh; try (intros; apply Ho; assumption);
  try (intros; apply Hz; assumption).
Qed.

Module Weak.
Section Weak.
Context {P : Problem} (M : Step P).
Hypothesis ok : convex_setting M.
Let flat_ok := flat_setting M ok.
Lemma expected_le f q : (forall c k, seen M c k -> f c k <= q c k) -> expected M f <= expected M q.
Proof. exact (Facts.expected_le (flatten M) flat_ok f q). Qed.
Lemma expected_const a : expected M (fun _ _ => a) = a.
Proof. exact (Facts.expected_const (flatten M) flat_ok a). Qed.
Lemma Delta_nonneg : 0 <= Delta M.
Proof. exact (Inside.Delta_nonneg (flatten M) flat_ok). Qed.
Lemma drift_nonneg : 0 <= drift M.
Proof. exact (Inside.drift_nonneg (flatten M) flat_ok). Qed.
Lemma gap_nonneg : 0 <= gap_t M.
Proof.
  rewrite <- (expected_const 0). apply expected_le. intros c k C.
  pose proof ok as (_ & _ & _ & _ & _ & _ & Hopt & _). pose proof (Hopt (w M c k)). lra.
Qed.
Lemma noise_bound sigma_sq c k : seen M c k -> bounded_variance M sigma_sq ->
  given_past M c k (fun s => norm_sq (centre (N P) (alpha M c) (xi M c k s))) <= sigma_sq.
Proof. exact (Facts.noise_bound (flatten M) flat_ok sigma_sq c k). Qed.
Lemma one_model : taken M = 0%nat -> forall c k i, seen M c k -> (i < N P)%nat -> x M c k i = w M c k.
Proof. exact (fun one => Together.one_model (flatten M) flat_ok one). Qed.
Lemma drift_bound G_sq ratio tau : bounded_gradient M G_sq -> 0 <= ratio -> steps_within M ratio -> (taken M <= tau)%nat ->
  drift M <= ratio ^ 2 * (eta M) ^ 2 * (INR tau) ^ 2 * G_sq.
Proof. exact (Drift.drift_bound (flatten M) flat_ok G_sq ratio tau). Qed.
Lemma drawn_after least share v (way : nat -> nat -> nat -> V P) :
  (forall c k i y, ip (way c k i) y = ip (w M c k) y - eta M * ip (grad P i (w M c k)) y - ip (w_star P) y) ->
  drawn M least -> least <= share -> taken M = 0%nat -> expected M (variance M) <= v ->
  Delta_next M <= expected M (fun c k => share * mean (N P) (p P) (fun i => ip (way c k i) (way c k i))
    + (1 - share) * ip (centre (N P) (p P) (way c k)) (centre (N P) (p P) (way c k))) + eta M * eta M * v.
Proof. exact (Drawn.drawn_after (flatten M) flat_ok least share v way). Qed.
Lemma drawn_noise share sigma_sq : drawn M share -> uncorrelated M -> bounded_variance M sigma_sq ->
  expected M (variance M) <= sigma_sq * (share + (1 - share) * mean (N P) (p P) (p P)).
Proof. exact (Drawn.drawn_noise (flatten M) flat_ok share sigma_sq). Qed.
Lemma noise_most sigma_sq : bounded_variance M sigma_sq -> expected M (variance M) <= sigma_sq.
Proof. exact (Drawn.noise_most (flatten M) flat_ok sigma_sq). Qed.
End Weak.
End Weak.

(* What a run says of its steps, whatever its setting. *)
Definition regular {P : Problem} (M : nat -> Step P) (T tau : nat) : Prop :=
  (forall t, (t <= T)%nat -> 0 < eta (M t)) /\ (forall t, (t < T)%nat -> follows (M t) (M (Datatypes.S t))) /\
  forall t, (t < T)%nat -> in_round (M t) tau /\ (taken (M t) <= t)%nat /\
    (forall s, (s < taken (M t))%nat -> before (M t) s = eta (M (t - taken (M t) + s)%nat)).
Lemma regular_in {P : Problem} (good : Step P -> Prop) (M : nat -> Step P) T tau : (forall m : Step P, good m -> 0 < eta m) ->
  run_in good M T tau -> regular M T tau.
Proof.
  intros He (Hs & Hf & Hr). split; [intros t Ht; apply He, Hs, Ht|]. split; [exact Hf|].
  intros t Ht. destruct (Hr t Ht) as (A & B & C & _). auto.
Qed.
Lemma run_regular {P : Problem} (M : nat -> Step P) T tau : run M T tau -> regular M T tau.
Proof. apply (regular_in setting). intros m (_ & _ & _ & _ & _ & _ & _ & _ & He). exact He. Qed.
Lemma convex_regular {P : Problem} (M : nat -> Step P) T tau : convex_run M T tau -> regular M T tau.
Proof. apply (regular_in convex_setting). intros m (_ & _ & _ & _ & _ & _ & _ & He). exact He. Qed.

Section Regular.
Context {P : Problem} (M : nat -> Step P) (T tau : nat).
Hypothesis ok : regular M T tau.
Definition gap_next (M' : Step P) : R := expected M' (fun c k => given_past M' c k (fun s =>
  (- 1) * mean (N P) (p P) (fun i => F P i (w_star P)) + mean (N P) (p P) (fun i => F P i (w_next M' c k s)))).
Definition slope_sq (M' : Step P) : R := expected M' (fun c k =>
  ip (centre (N P) (p P) (fun i => grad P i (w M' c k))) (centre (N P) (p P) (fun i => grad P i (w M' c k)))).
Definition slope_sq_next (M' : Step P) : R := expected M' (fun c k => given_past M' c k (fun s =>
  ip (centre (N P) (p P) (fun i => grad P i (w_next M' c k s))) (centre (N P) (p P) (fun i => grad P i (w_next M' c k s))))).
Lemma slope_after t : (t < T)%nat -> slope_sq (M (Datatypes.S t)) = slope_sq_next (M t).
Proof.
  intros Ht. destruct ok as (_ & Hf & _).
  apply (Hf t Ht (fun v => ip (centre (N P) (p P) (fun i => grad P i v)) (centre (N P) (p P) (fun i => grad P i v)))).
Qed.
Lemma Delta_after t : (t < T)%nat -> Delta (M (Datatypes.S t)) = Delta_next (M t).
Proof. intros Ht. destruct ok as (_ & Hf & _). apply (Hf t Ht (fun v => norm_sq (sub v (w_star P)))). Qed.
Lemma gap_after t : (t < T)%nat -> gap_t (M (Datatypes.S t)) = gap_next (M t).
Proof.
  intros Ht. destruct ok as (_ & Hf & _). unfold gap_next.
  rewrite <- (Hf t Ht (fun v => (- 1) * mean (N P) (p P) (fun i => F P i (w_star P)) + mean (N P) (p P) (fun i => F P i v))).
  unfold gap_t, expected. apply mean_ext. intros c _. apply mean_ext. intros k _. ring.
Qed.
Lemma steps_before t ratio : (t < T)%nat ->
  (forall s, (s <= t)%nat -> (t < s + tau)%nat -> eta (M s) <= ratio * eta (M t)) -> steps_within (M t) ratio.
Proof.
  intros Ht Hs s Hn. destruct ok as (He & _ & Hr). destruct (Hr t Ht) as (Hin & Hle & Hb). unfold in_round in Hin.
  rewrite (Hb s Hn). split; [apply He; lia|]. apply Hs; lia.
Qed.
Lemma in_time t : (t < T)%nat -> INR (taken (M t)) <= INR tau - 1.
Proof.
  intros Ht. destruct ok as (_ & _ & Hr). destruct (Hr t Ht) as (Hin & _). unfold in_round in Hin.
  replace (INR tau - 1) with (INR (tau - 1)) by (rewrite minus_INR by lia; reflexivity).
  apply le_INR. lia.
Qed.
Lemma whole_steps t : (t < T)%nat -> 1 <= INR tau.
Proof.
  intros Ht. destruct ok as (_ & _ & Hr). destruct (Hr t Ht) as (Hin & _). unfold in_round in Hin. apply (le_INR 1). lia.
Qed.
Lemma first_round t : rounds M T tau -> (T <= tau)%nat -> (t < T)%nat -> INR (taken (M t)) = INR t.
Proof. intros Hr Hle Ht. rewrite (Hr t Ht), Nat.mod_small by lia. reflexivity. Qed.
Lemma zero_apart t : (forall s, (s < T \/ s = 0)%nat -> taken (M s) = 0%nat) -> (t < T)%nat -> taken (M t) = 0%nat.
Proof. intros Hz Ht. apply Hz. left. assumption. Qed.
End Regular.

(* The drift of gradients that are bounded. *)
Lemma away {P : Problem} (M : Step P) G_sq ratio : setting M -> bounded_gradient M G_sq -> 0 <= ratio -> steps_within M ratio ->
  drift M <= ratio ^ 2 * (G_sq * eta M ^ 2 * INR (taken M) ^ 2).
Proof.
  intros ok HG Hr Hs. eapply Rle_trans; [apply (drift_bound M ok G_sq ratio (taken M) HG Hr Hs (le_n _))|]. right. ring.
Qed.
Lemma away_weak {P : Problem} (M : Step P) G_sq ratio : convex_setting M -> bounded_gradient M G_sq -> 0 <= ratio -> steps_within M ratio ->
  drift M <= ratio ^ 2 * (G_sq * eta M ^ 2 * INR (taken M) ^ 2).
Proof.
  intros ok HG Hr Hs. eapply Rle_trans; [apply (Weak.drift_bound M ok G_sq ratio (taken M) HG Hr Hs (le_n _))|]. right. ring.
Qed.

(* The gap at the end of a run. *)
Lemma gap_at {P : Problem} (M : Step P) L : setting M -> smooth P L -> 0 < L -> gap_t M <= L / 2 * Delta M.
Proof.
  intros S Hs HL. unfold gap_t, Delta. rewrite <- (expected_times M).
  apply (expected_le M S). intros c k Hck. pose proof S as (Hp & _). set (d := sub (w M c k) (w_star P)).
  pose proof (stationary M S L d Hs ltac:(lra)) as Z.
  assert (U : mean (N P) (p P) (fun i => F P i (w M c k)) <=
    mean (N P) (p P) (fun i => F P i (w_star P) + (ip (grad P i (w_star P)) d + L / 2 * norm_sq d))).
  { apply mean_le; [assumption|]. intros i Hi. pose proof (Hs i (w_star P) (w M c k) Hi) as A. unfold d. lra. }
  rewrite !mean_plus, Z, (mean_const _ _ _ Hp) in U. lra.
Qed.

(* Convex losses: at the mean of points the loss is at most the mean of its values. *)
Lemma loss_convex (P : Problem) (a : nat -> R) n (f : nat -> V P) : weights (N P) (p P) -> strongly_convex P 0 -> weights n a ->
  loss P (centre n a f) <= mean n a (fun t => loss P (f t)).
Proof.
  intros Hp Hc Ha. unfold loss. rewrite mean_swap. apply mean_le; [assumption|]. intros i Hi. set (m := centre n a f).
  assert (Q : mean n a (fun t => F P i m + ip (grad P i m) (sub (f t) m)) <= mean n a (fun t => F P i (f t))).
  { apply mean_le; [assumption|]. intros t _. pose proof (Hc i m (f t) Hi). lra. }
  rewrite mean_plus, (mean_const _ _ _ Ha) in Q.
  rewrite (mean_ext n a (fun t => ip (grad P i m) (sub (f t) m)) (fun t => ip (f t) (grad P i m) + - ip m (grad P i m) * 1)) in Q.
  2:{ intros t _. unfold sub. rewrite ip_add_r, ip_scale_r, (ip_sym _ (grad P i m) (f t)), (ip_sym _ (grad P i m) m). ring. }
  rewrite mean_plus, mean_times, <- ip_centre, (mean_const n a 1 Ha) in Q. fold m in Q. lra.
Qed.
Lemma strong_is_convex (P : Problem) mu : 0 <= mu -> strongly_convex P mu -> strongly_convex P 0.
Proof.
  intros Hm Hc i u v Hi. pose proof (Hc i u v Hi) as A. pose proof (ip_pos _ (sub v u)) as B. fold (norm_sq (sub v u)) in B.
  assert (0 <= mu / 2 * norm_sq (sub v u)) by (apply Rmult_le_pos; lra). lra.
Qed.
Lemma law_gap {P : Problem} (M : Step P) : expected M (fun _ _ => 1) = 1 ->
  expected M (fun c k => loss P (w M c k)) = gap_t M + loss P (w_star P).
Proof.
  intros H1. unfold gap_t. rewrite <- (Rmult_1_r (loss P (w_star P))), <- H1, <- (expected_times M), <- (expected_plus M).
  unfold expected. apply mean_ext. intros c _. apply mean_ext. intros k _. unfold loss. ring.
Qed.
Lemma weighted_gap {P : Problem} (M : nat -> Step P) T n odds W a : weights (N P) (p P) -> strongly_convex P 0 ->
  (forall t, (t < T)%nat -> 0 <= a t) -> 0 < sum T a -> path M T n odds W ->
  (forall t, (t < T)%nat -> expected (M t) (fun _ _ => 1) = 1) ->
  sum T a * gap_of_weighted T n odds W a <= sum T (fun t => a t * gap_t (M t)).
Proof.
  intros Hp Hc Ha Hs (Ho & Hl) H1. set (A := sum T a) in *.
  assert (Hw : weights T (fun t => / A * a t)).
  { split; [intros; apply Rmult_le_pos; [apply Rlt_le, Rinv_0_lt_compat | apply Ha]; assumption|].
    rewrite sum_times. fold A. field. lra. }
  assert (Q : mean n odds (fun o => loss P (scale (/ A) (vsum T (fun t => scale (a t) (W t o)))))
    <= mean T (fun t => / A * a t) (fun t => mean n odds (fun o => loss P (W t o)))).
  { rewrite mean_swap. apply mean_le; [assumption|]. intros o _.
    replace (scale (/ A) (vsum T (fun t => scale (a t) (W t o)))) with (centre T (fun t => / A * a t) (fun t => W t o));
      [apply (loss_convex P _ T (fun t => W t o)); assumption|].
    apply same_point. intros y. rewrite ip_centre, ip_scale. fold (centre T a (fun t => W t o)). rewrite ip_centre.
    unfold mean. rewrite <- sum_times. apply sum_ext. intros. ring. }
  assert (E : A * mean T (fun t => / A * a t) (fun t => mean n odds (fun o => loss P (W t o)))
    = sum T (fun t => a t * gap_t (M t)) + A * loss P (w_star P)).
  { replace (A * loss P (w_star P)) with (sum T (fun t => loss P (w_star P) * a t)) by (rewrite sum_times; apply Rmult_comm).
    unfold mean at 1. rewrite <- sum_times, <- sum_plus. apply sum_ext. intros t Ht.
    rewrite (Hl t (loss P) Ht), (law_gap (M t) (H1 t Ht)). field. lra. }
  unfold gap_of_weighted. fold A. apply (Rmult_le_compat_l A) in Q; [|lra]. rewrite E in Q. lra.
Qed.
Lemma total_of a f : f 0%nat = 0 -> (forall m, f (Datatypes.S m) = f m + a m) -> forall m, sum m a = f m.
Proof. intros Z E m. induction m as [|m IH]; simpl; [symmetry; exact Z|]. rewrite IH. symmetry. apply E. Qed.
Lemma mean_gap {P : Problem} (M : nat -> Step P) T n odds W : weights (N P) (p P) -> strongly_convex P 0 -> (0 < T)%nat ->
  path M T n odds W -> (forall t, (t < T)%nat -> expected (M t) (fun _ _ => 1) = 1) ->
  INR T * gap_of_mean T n odds W <= sum T (fun t => gap_t (M t)).
Proof.
  intros Hp Hc HT Hw H1. assert (Ti : sum T (fun _ => 1) = INR T) by (rewrite sum_const; ring).
  pose proof (weighted_gap M T n odds W (fun _ => 1) Hp Hc ltac:(intros; lra) ltac:(rewrite Ti; apply lt_0_INR; assumption) Hw H1) as B.
  rewrite Ti, (sum_ext T (fun t => 1 * gap_t (M t)) (fun t => gap_t (M t))) in B by (intros; ring).
  replace (gap_of_mean T n odds W) with (gap_of_weighted T n odds W (fun _ => 1)); [exact B|].
  unfold gap_of_weighted, gap_of_mean. rewrite Ti. f_equal. apply mean_ext. intros o _.
  assert (E : forall m, vsum m (fun t => scale 1 (W t o)) = vsum m (fun t => W t o))
    by (induction m as [|m IH]; simpl; [reflexivity | rewrite IH, scale_one; reflexivity]).
  rewrite E. reflexivity.
Qed.

(* The least of what is measured at each step of a run is at most the mean. *)
Lemma least_under n f k : (k < n)%nat -> least n f <= f k.
Proof.
  induction n as [|n IH]; intros Hk; [lia|]. simpl. destruct (Nat.eq_dec k n) as [e|e]; [subst; apply Rmin_r|].
  eapply Rle_trans; [apply Rmin_l | apply IH; lia].
Qed.
Lemma least_mean {P : Problem} (M : nat -> Step P) T n odds W f : (0 < T)%nat -> path M T n odds W ->
  least_of T n odds W f <= / INR T * sum T (fun t => expected (M t) (fun c k => f (w (M t) c k))).
Proof.
  intros HT (Ho & Hl). assert (0 < INR T) by (apply lt_0_INR; assumption).
  replace (sum T (fun t => expected (M t) (fun c k => f (w (M t) c k)))) with (mean n odds (fun o => sum T (fun t => f (W t o)))).
  - apply (Rmult_le_reg_l (INR T)); [assumption|]. rewrite <- Rmult_assoc, Rinv_r, Rmult_1_l by lra.
    unfold least_of. rewrite <- mean_times. apply mean_le; [assumption|]. intros o _. rewrite <- sum_const.
    apply sum_le. intros t Ht. apply (least_under T (fun s => f (W s o)) t Ht).
  - rewrite (sum_ext T _ (fun t => mean n odds (fun o => f (W t o)))) by (intros t Ht; symmetry; apply (Hl t f Ht)).
    unfold mean. rewrite sum_swap. apply sum_ext. intros o _. symmetry. apply sum_times.
Qed.

(* A round of a run is a run of its own. *)
Section Shifted.
Context {P : Problem} (M : nat -> Step P) (r tau : nat).
Hypothesis whole : rounds M ((r + 1) * tau) tau.
Lemma begun t : (t < tau)%nat -> taken (M (r * tau + t)%nat) = t.
Proof. intros Ht. rewrite (whole (r * tau + t)%nat) by nia. rewrite Nat.add_comm, Nat.mod_add by lia. apply Nat.mod_small. assumption. Qed.
Lemma shifted_rounds : rounds (fun t => M (r * tau + t)%nat) tau tau.
Proof. intros t Ht. rewrite (begun t Ht), Nat.mod_small by assumption. reflexivity. Qed.
Lemma shifted (good : Step P -> Prop) : run_in good M ((r + 1) * tau) tau -> run_in good (fun t => M (r * tau + t)%nat) tau tau.
Proof.
  intros (Hs & Hf & Hr). split; [intros t Ht; apply Hs; nia|]. split.
  - intros t Ht. rewrite Nat.add_succ_r. apply Hf. nia.
  - intros t Ht. pose proof (begun t Ht) as B. destruct (Hr (r * tau + t)%nat ltac:(nia)) as (Hi & _ & Hb & Hu).
    split; [assumption|]. split; [rewrite B; lia|]. split; [|assumption].
    intros s Hn. rewrite (Hb s Hn). rewrite B in *. do 2 f_equal. lia.
Qed.
Lemma shifted_run : run M ((r + 1) * tau) tau -> run (fun t => M (r * tau + t)%nat) tau tau.
Proof. exact (shifted setting). Qed.
Lemma shifted_convex : convex_run M ((r + 1) * tau) tau -> convex_run (fun t => M (r * tau + t)%nat) tau tau.
Proof. exact (shifted convex_setting). Qed.
End Shifted.

(* Over rounds the number of steps before, and its square, are at most their mean over a round. *)
Section Counted.
Variables (tau : nat) (power whole : R -> R).
Hypotheses (start : whole 0 = 0) (one_more : forall r, whole (r + 1) = whole r + power r)
  (most : forall r, (r <= tau)%nat -> INR tau * whole (INR r) <= INR r * whole (INR tau)) (some : (0 < tau)%nat).
Lemma counted q r : (r <= tau)%nat ->
  sum (q * tau + r) (fun s => power (INR (Nat.modulo s tau))) = INR q * whole (INR tau) + whole (INR r).
Proof.
  assert (E : forall q, sum (q * tau) (fun s => power (INR (Nat.modulo s tau))) = INR q * whole (INR tau) ->
    forall r, (r <= tau)%nat ->
    sum (q * tau + r) (fun s => power (INR (Nat.modulo s tau))) = INR q * whole (INR tau) + whole (INR r)).
  { intros k B. induction r0 as [|j IH]; intros Hr.
    - rewrite Nat.add_0_r, B. simpl. rewrite start. ring.
    - rewrite Nat.add_succ_r. simpl sum. rewrite IH by lia. rewrite (Nat.add_comm (k * tau)), Nat.mod_add, Nat.mod_small by lia.
      rewrite S_INR, one_more. ring. }
  apply E. induction q as [|q IH]; [simpl; ring|].
  replace (Datatypes.S q * tau)%nat with (q * tau + tau)%nat by lia. rewrite (E q IH tau (le_n _)), S_INR. ring.
Qed.
Lemma counted_most T : INR tau * sum T (fun s => power (INR (Nat.modulo s tau))) <= INR T * whole (INR tau).
Proof.
  rewrite (Nat.div_mod T tau) by lia. rewrite (Nat.mul_comm tau). set (r := Nat.modulo T tau). set (q := Nat.div T tau).
  assert (Hr : (r < tau)%nat) by (apply Nat.mod_upper_bound; lia).
  rewrite (counted q r) by lia. rewrite plus_INR, mult_INR. pose proof (most r ltac:(lia)). lra.
Qed.
End Counted.
Section Counts.
Context {P : Problem} (M : nat -> Step P) (T tau : nat).
Hypotheses (ok : rounds M T tau) (some : 1 <= INR tau).
Lemma some_steps : (0 < tau)%nat.
Proof. destruct tau; [simpl in some; lra|lia]. Qed.
Lemma round_sums_1 : sum T (fun s => INR (taken (M s))) <= INR T * ((INR tau - 1) / 2).
Proof.
  rewrite (sum_ext T _ (fun s => INR (Nat.modulo s tau))) by (intros s Hs; rewrite (ok s Hs); reflexivity).
  pose proof (counted_most tau (fun r => r) (fun r => r * (r - 1) / 2) ltac:(cbv beta; field) ltac:(intros; cbv beta; field)) as B.
  pose proof (B ltac:(intros r Hr; apply le_INR in Hr; pose proof (pos_INR r); assert (0 <= INR r * INR tau * (INR tau - INR r)) by (repeat apply Rmult_le_pos; lra); lra) some_steps T) as C.
  cbv beta in C. apply (Rmult_le_reg_l (INR tau)); [lra|]. eapply Rle_trans; [exact C|]. right. field.
Qed.
Lemma round_sums_2 : sum T (fun s => INR (taken (M s)) ^ 2) <= INR T * ((INR tau - 1) * (2 * INR tau - 1) / 6).
Proof.
  rewrite (sum_ext T _ (fun s => INR (Nat.modulo s tau) ^ 2)) by (intros s Hs; rewrite (ok s Hs); reflexivity).
  pose proof (counted_most tau (fun r => r ^ 2) (fun r => r * (r - 1) * (2 * r - 1) / 6) ltac:(cbv beta; field) ltac:(intros; cbv beta; field)) as B.
  assert (most : forall r, (r <= tau)%nat -> INR tau * (INR r * (INR r - 1) * (2 * INR r - 1) / 6)
    <= INR r * (INR tau * (INR tau - 1) * (2 * INR tau - 1) / 6)).
  { intros r Hr. destruct r as [|r]; [simpl; lra|]. apply le_INR in Hr. pose proof (pos_INR r) as Q. rewrite S_INR in *.
    assert (0 <= INR tau * (INR r + 1) * ((INR tau - (INR r + 1)) * (2 * INR tau - 1 + 2 * INR r))) by (repeat apply Rmult_le_pos; lra).
    lra. }
  pose proof (B most some_steps T) as C.
  cbv beta in C. apply (Rmult_le_reg_l (INR tau)); [lra|]. eapply Rle_trans; [exact C|]. right. field.
Qed.
End Counts.

(* What scripts use at one step of a run. *)
Ltac at_step M t Ht reg :=
  repeat match goal with h : forall s : nat, (s < _ \/ s = 0)%nat -> _ |- _ => specialize (h t (or_introl Ht)) end;
  pose proof (in_time M _ _ reg t Ht); pose proof (whole_steps M _ _ reg t Ht);
  pose proof (proj1 (proj2 (proj2 reg) t Ht)); pose proof (proj1 reg t (Nat.lt_le_incl _ _ Ht));
  pose proof (pos_INR t); pose proof (pos_INR (taken (M t))).
Lemma none_negative {P : Problem} (M : nat -> Step P) T : (forall t, (t <= T)%nat -> setting (M t)) ->
  (forall t, (t <= T)%nat -> 0 <= Delta (M t)) /\ (forall t, (t <= T)%nat -> 0 <= gap_t (M t)) /\
  (forall t, (t <= T)%nat -> 0 <= drift (M t)).
Proof.
  intros Ok. repeat apply conj; intros t Ht; [apply Delta_nonneg | apply gap_nonneg | apply drift_nonneg]; apply Ok; assumption.
Qed.
Lemma none_negative_weak {P : Problem} (M : nat -> Step P) T : (forall t, (t <= T)%nat -> convex_setting (M t)) ->
  (forall t, (t <= T)%nat -> 0 <= Delta (M t)) /\ (forall t, (t <= T)%nat -> 0 <= gap_t (M t)) /\
  (forall t, (t <= T)%nat -> 0 <= drift (M t)).
Proof.
  intros Ok. repeat apply conj; intros t Ht; [apply Weak.Delta_nonneg | apply Weak.gap_nonneg | apply Weak.drift_nonneg]; apply Ok; assumption.
Qed.
Ltac sign := first [assumption | match goal with h : forall t, (t <= _)%nat -> 0 <= _ |- _ => apply h; lia end | apply pos_INR | apply lt_0_INR; assumption | lra | apply Rlt_le; assumption
  | apply sum_positive; [assumption | intros; match goal with r : regular _ _ _ |- _ => apply (proj1 r); lia end]
  | apply mean_nonneg; [assumption | intros; apply ip_pos]
  | apply sum_nonneg; intros; first [apply pos_INR | apply pow_le, pos_INR | apply pow2_ge_0] | nonneg | positive
  | eapply Rlt_le_trans; [|apply Rmax_l]; positive | eapply Rlt_le_trans; [|apply Rmax_r]; positive].
Ltac step_weight reg s := first [apply (proj1 reg); lia | pose proof (pos_INR s); positive].
Ltac extreme := first [apply Rmax_l | apply Rmax_r | apply Rmin_l | apply Rmin_r].
Ltac step_size := first [assumption | match goal with
  | h : eta _ = _ |- eta _ = _ => rewrite h
  | h : forall u : nat, (u < ?T \/ u = 0)%nat -> eta (?M u) = @?f u |- eta (?M ?s) = _ => rewrite (h s) by (left; lia) end;
  first [reflexivity | f_equal; ring | do 2 f_equal; ring | field; apart_from_zero]].
Ltac last_side Ok T := first [exact (Ok T (le_n T)) | assumption
  | apply (le_INR 1); lia | lra | nra].
Ltac step_side Ok t Ht := first [exact (Ok t (Nat.lt_le_incl _ _ Ht)) | assumption | lra | nra].
Ltac equal_steps M s t Ht := match goal with h : forall u : nat, (u < _ \/ u = 0)%nat -> eta (M u) = _ |- _ =>
  rewrite (h s) by (left; lia); rewrite (h t (or_introl Ht)); lra end.
Ltac at_start M :=
  repeat match goal with h : forall s : nat, (s < _ \/ s = 0)%nat -> _ |- _ => specialize (h 0%nat (or_intror eq_refl)) end.
Ltac some_drawn M := match goal with
  | h : forall t, _ -> drawn_by_p (M t) _ |- _ => pose proof (proj1 (h 0%nat (or_intror eq_refl)))
  | h : forall t, _ -> drawn_apart (M t) _ |- _ => destruct (h 0%nat (or_intror eq_refl)) as [[] _] end.
Ltac weights_p := let t := fresh in let Ht := fresh in intros t Ht;
  repeat match goal with h : forall s : nat, (s < _ \/ s = 0)%nat -> _ |- _ => specialize (h t (or_introl Ht)) end;
  match goal with |- ?ratio _ 1 => match goal with h : ratio _ ?q |- _ => replace 1 with q by lra; exact h end end.
Lemma round_end r tau : ((r + 1) * tau)%nat = (r * tau + tau)%nat.
Proof. ring. Qed.
Ltac of_round M r tau whole := first [assumption | lra | apply (shifted_run M r tau whole); assumption
  | apply (shifted_convex M r tau whole); assumption
  | intros; rewrite ?Nat.add_succ_r; match goal with h : forall s, (s < _)%nat -> _ |- _ => apply h; nia end | apply (shifted_rounds M r tau whole)
  | intros; match goal with h : forall s : nat, (s < _ \/ s = 0)%nat -> _ |- _ => apply h; left; nia end].
