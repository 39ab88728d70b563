(* Clients drawn for each round, whatever the local models: what their weights are in the mean, and the step after. *)
From Coq Require Import Reals Lra Lia Arith.
Require Import Space Model Facts Together Inside Independent.
Open Scope R_scope.

(* Of clients drawn by p two weights are in the mean what independent draws make them, (1 - share) p_i p_j, and beside
   that a client's own share p_i. With replacement ``share`` is 1/m; of m among N of equal weight without replacement
   it is (N - m)/(m (N - 1)). *)
Definition drawn {P : Problem} (M : Step P) (share : R) : Prop :=
  (forall i (f : (nat -> V P) -> R), (i < N P)%nat ->
    expected M (fun c k => alpha M c i * f (x M c k)) = p P i * expected M (fun c k => f (x M c k))) /\
  (forall i j (f : (nat -> V P) -> R), (i < N P)%nat -> (j < N P)%nat ->
    expected M (fun c k => alpha M c i * alpha M c j * f (x M c k))
    = ((if Nat.eqb i j then share * p P i else 0) + (1 - share) * (p P i * p P j)) * expected M (fun c k => f (x M c k))).

Definition drawn_apart {P : Problem} (M : Step P) (m : nat) : Prop :=
  1 <= INR m <= INR (N P) /\ exists share, INR m * (INR (N P) - 1) * share = INR (N P) - INR m /\
  0 <= share /\ share <= / INR m /\ drawn M share.
Definition drawn_by_p {P : Problem} (M : Step P) (m : nat) : Prop := 1 <= INR m /\ drawn M (/ INR m).

Lemma apart_share m n s : 1 <= m -> 1 < n -> m * (n - 1) * s = n - m -> s = (n - m) * / (m * (n - 1)).
Proof. intros Hm Hn E. rewrite <- E. field. lra. Qed.
Lemma apart_noise m n s : 1 <= m -> m <= n -> m * (n - 1) * s = n - m -> s + (1 - s) * / n = / m.
Proof.
  intros Hm Hn E. apply (Rmult_eq_reg_l (m * n)); [|nra]. field_simplify; [|lra|lra]. lra.
Qed.
Lemma at_most_one m : 1 <= m -> 0 < / m <= 1.
Proof. intros Hm. split; [apply Rinv_0_lt_compat; lra|]. rewrite <- Rinv_1. apply Rinv_le_contravar; lra. Qed.

Lemma square_of_sum {V : Space} n a (f : nat -> V) :
  norm_sq (centre n a f) = sum n (fun i => sum n (fun j => a i * a j * ip (f i) (f j))).
Proof.
  unfold norm_sq. rewrite ip_centre. unfold mean. apply sum_ext. intros i Hi. rewrite ip_sym, ip_centre. unfold mean.
  rewrite <- sum_times. apply sum_ext. intros j Hj. rewrite (ip_sym _ (f j)). ring.
Qed.

Section Drawn.
Context {P : Problem} (M : Step P).
Hypothesis ok : setting M.

Lemma expected_ext f q : (forall c k, seen M c k -> f c k = q c k) -> expected M f = expected M q.
Proof. intros E. unfold expected. apply mean_ext. intros c C. apply mean_ext. intros k K. apply E. split; assumption. Qed.
Lemma expected_sum n f : expected M (fun c k => sum n (fun i => f i c k)) = sum n (fun i => expected M (f i)).
Proof. induction n as [|n IH]; simpl; [apply (expected_const M ok)|]. rewrite expected_plus, IH. reflexivity. Qed.

Lemma drawn_square share (y : (nat -> V P) -> nat -> V P) : drawn M share ->
  expected M (fun c k => norm_sq (centre (N P) (alpha M c) (y (x M c k))))
  = expected M (fun c k => share * mean (N P) (p P) (fun i => norm_sq (y (x M c k) i))
      + (1 - share) * norm_sq (centre (N P) (p P) (y (x M c k)))).
Proof.
  intros [_ H2].
  transitivity (sum (N P) (fun i => sum (N P) (fun j =>
    ((if Nat.eqb i j then share * p P i else 0) + (1 - share) * (p P i * p P j))
    * expected M (fun c k => ip (y (x M c k) i) (y (x M c k) j))))).
  - rewrite (expected_ext _ (fun c k => sum (N P) (fun i => sum (N P) (fun j =>
      alpha M c i * alpha M c j * ip (y (x M c k) i) (y (x M c k) j))))) by (intros; apply square_of_sum).
    rewrite (expected_sum (N P) (fun i c k => sum (N P) (fun j => alpha M c i * alpha M c j * ip (y (x M c k) i) (y (x M c k) j)))).
    apply sum_ext. intros i Hi.
    rewrite (expected_sum (N P) (fun j c k => alpha M c i * alpha M c j * ip (y (x M c k) i) (y (x M c k) j))).
    apply sum_ext. intros j Hj. apply (H2 i j (fun X => ip (y X i) (y X j)) Hi Hj).
  - rewrite expected_plus, !expected_times.
    rewrite (expected_ext (fun c k => norm_sq (centre (N P) (p P) (y (x M c k)))) (fun c k => sum (N P) (fun i => sum (N P) (fun j =>
      p P i * p P j * ip (y (x M c k) i) (y (x M c k) j))))) by (intros; apply square_of_sum).
    unfold mean at 1.
    rewrite (expected_sum (N P) (fun i c k => p P i * norm_sq (y (x M c k) i))).
    rewrite (expected_sum (N P) (fun i c k => sum (N P) (fun j => p P i * p P j * ip (y (x M c k) i) (y (x M c k) j)))).
    rewrite <- !sum_times, <- sum_plus. apply sum_ext. intros i Hi.
    rewrite (expected_sum (N P) (fun j c k => p P i * p P j * ip (y (x M c k) i) (y (x M c k) j))).
    rewrite (sum_ext (N P) (fun j => ((if Nat.eqb i j then share * p P i else 0) + (1 - share) * (p P i * p P j)) * _)
      (fun j => (if Nat.eqb i j then share * p P i * expected M (fun c k => norm_sq (y (x M c k) i)) else 0)
        + (1 - share) * expected M (fun c k => p P i * p P j * ip (y (x M c k) i) (y (x M c k) j)))).
    + rewrite sum_plus, sum_times, (sum_of_one (N P) i) by (try assumption; intros j Hj n; rewrite (proj2 (Nat.eqb_neq i j)) by auto; reflexivity).
      rewrite Nat.eqb_refl, expected_times. ring.
    + intros j Hj. rewrite expected_times. destruct (Nat.eqb i j) eqn:e; [apply Nat.eqb_eq in e; subst; unfold norm_sq|]; ring.
Qed.

(* The same of vectors at the model from which clients start. *)
Lemma drawn_at_step share (y : V P -> nat -> V P) : drawn M share -> taken M = 0%nat ->
  expected M (fun c k => ip (centre (N P) (alpha M c) (y (w M c k))) (centre (N P) (alpha M c) (y (w M c k))))
  = expected M (fun c k => share * mean (N P) (p P) (fun i => ip (y (w M c k) i) (y (w M c k) i))
      + (1 - share) * ip (centre (N P) (p P) (y (w M c k))) (centre (N P) (p P) (y (w M c k)))).
Proof.
  intros D one. pose proof (drawn_square share (fun X i => y (X i) i) D) as Q. unfold norm_sq in Q.
  assert (Same : forall a c k, seen M c k ->
    centre (N P) a (fun i => y (x M c k i) i) = centre (N P) a (y (w M c k))).
  { intros a c k C. apply centre_same. intros i Hi. rewrite (one_model M ok one c k i C Hi). auto. }
  rewrite (expected_ext _ (fun c k => ip (centre (N P) (alpha M c) (fun i => y (x M c k i) i)) (centre (N P) (alpha M c) (fun i => y (x M c k i) i))))
    by (intros c k C; rewrite (Same _ c k C); reflexivity).
  rewrite Q. apply expected_ext. intros c k C. rewrite (Same _ c k C). do 2 f_equal. apply mean_ext. intros i Hi.
  rewrite (one_model M ok one c k i C Hi). reflexivity.
Qed.

(* A step of drawn clients: where all have the model w, it is in the mean that of these moments, and noise. *)
Lemma drawn_after least share v (way : nat -> nat -> nat -> V P) :
  (forall c k i y, ip (way c k i) y = ip (w M c k) y - eta M * ip (grad P i (w M c k)) y - ip (w_star P) y) ->
  drawn M least -> least <= share -> taken M = 0%nat -> expected M (variance M) <= v ->
  Delta_next M <= expected M (fun c k => share * mean (N P) (p P) (fun i => ip (way c k i) (way c k i))
    + (1 - share) * ip (centre (N P) (p P) (way c k)) (centre (N P) (p P) (way c k))) + eta M * eta M * v.
Proof.
  intros W D Ls one Hv. set (y := fun (X : nat -> V P) i => sub (sub (X i) (scale (eta M) (grad P i (X i)))) (w_star P)).
  pose proof (drawn_square least y D) as Q. pose proof ok as (Hp & _ & _ & Hw & _ & _ & _ & _ & He).
  assert (Same : forall c k i, seen M c k -> (i < N P)%nat -> y (x M c k) i = way c k i).
  { intros c k i C Hi. apply same_point. intros u. rewrite W. unfold y. rewrite (one_model M ok one c k i C Hi). bilinear. ring. }
  unfold Delta_next. rewrite (expected_ext _ (fun c k => norm_sq (centre (N P) (alpha M c) (y (x M c k))) + eta M * eta M * variance M c k)).
  - rewrite expected_plus, expected_times, Q. apply Rplus_le_compat; [|apply Rmult_le_compat_l; [nra|assumption]].
    apply (expected_le M ok). intros c k C.
    rewrite (mean_ext _ _ _ (fun i => norm_sq (way c k i))) by (intros i Hi; rewrite (Same c k i C Hi); reflexivity).
    rewrite (centre_same _ _ (p P) _ (way c k)) by (intros i Hi; split; [reflexivity|apply (Same c k i C Hi)]).
    pose proof (jensen (N P) (p P) (way c k) Hp) as J. unfold norm_sq in *. nra.
  - intros c k C. rewrite (expand_noise M ok c k C). unfold variance, mean_noise_of. f_equal. f_equal.
    apply same_point. intros u. destruct (Hw c (proj1 C)) as [Ha _]. unfold y. rewrite ip_centre.
    rewrite (mean_ext _ _ _ (fun i => ip (x M c k i) u + ((- eta M) * ip (grad P i (x M c k i)) u + (- ip (w_star P) u)))) by (intros; bilinear; ring).
    rewrite !mean_plus, !mean_times, (mean_const _ _ _ Ha). unfold slope, w, sub. rewrite !ip_add, !ip_scale, !ip_centre. ring.
Qed.
Lemma drawn_noise share sigma_sq : drawn M share -> uncorrelated M -> bounded_variance M sigma_sq ->
  expected M (variance M) <= sigma_sq * (share + (1 - share) * mean (N P) (p P) (p P)).
Proof.
  intros [_ H2] Hu Hv. pose proof ok as ([_ H1] & _).
  apply Rle_trans with (expected M (fun c k => sum (N P) (fun i => sigma_sq * (alpha M c i * alpha M c i * 1)))).
  - apply (expected_le M ok). intros c k C. unfold variance, mean_noise_of, given_past.
    rewrite (mean_ext _ _ _ (fun s => sum (N P) (fun i => sum (N P) (fun j => alpha M c i * alpha M c j * ip (xi M c k s i) (xi M c k s j))))) by (intros; apply square_of_sum).
    unfold mean. rewrite (sum_ext _ _ (fun s => sum (N P) (fun i => odds M c k s * sum (N P) (fun j => alpha M c i * alpha M c j * ip (xi M c k s i) (xi M c k s j))))) by (intros; rewrite sum_times; reflexivity).
    rewrite sum_swap. apply sum_le. intros i Hi.
    rewrite (sum_ext _ _ (fun s => sum (N P) (fun j => alpha M c i * alpha M c j * (odds M c k s * ip (xi M c k s i) (xi M c k s j))))) by (intros; rewrite <- sum_times; apply sum_ext; intros; ring).
    rewrite sum_swap, (sum_of_one (N P) i); [|assumption|].
    + rewrite sum_times. pose proof (Hv c k i C Hi) as B. unfold given_past, mean, norm_sq in B.
      pose proof (Rmult_le_compat_l (alpha M c i * alpha M c i) _ _ ltac:(nra) B). lra.
    + intros j Hj n. rewrite sum_times. pose proof (Hu c k i j C Hi Hj (not_eq_sym n)) as Z. unfold given_past, mean in Z. rewrite Z. ring.
  - right. rewrite (expected_sum (N P) (fun i c k => sigma_sq * (alpha M c i * alpha M c i * 1))).
    rewrite (sum_ext _ _ (fun i => sigma_sq * (share * p P i + (1 - share) * (p P i * p P i)))).
    + rewrite sum_times, sum_plus, !sum_times, H1. unfold mean. ring.
    + intros i Hi. rewrite expected_times, (H2 i i (fun _ => 1) Hi Hi), (expected_const M ok), Nat.eqb_refl. ring.
Qed.
Lemma noise_most sigma_sq : bounded_variance M sigma_sq -> expected M (variance M) <= sigma_sq.
Proof.
  intros Hv. rewrite <- (expected_const M ok sigma_sq). apply (expected_le M ok). intros c k C. exact (noise_bound M ok sigma_sq c k C Hv).
Qed.
End Drawn.
