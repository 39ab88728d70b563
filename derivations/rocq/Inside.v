(* What proofs of one step that are found rest on: what is measured is not negative, the drift after fewer than tau
   steps, and what noise adds to a square and to a loss after the step. *)
From Coq Require Import Reals Lra Lia.
Require Import Space Model Horizon Rounds Facts Together Drift.
Open Scope R_scope.

Lemma same_point {V : Space} (u v : V) : (forall y, ip u y = ip v y) -> u = v.
Proof.
  intros E. apply apart_zero, ip_definite. unfold sub at 1. rewrite ip_add, ip_scale, E. ring.
Qed.

Lemma same_square {V : Space} (u v : V) : (forall y, ip u y = ip v y) -> ip u u = norm_sq v.
Proof. intros E. unfold norm_sq. rewrite E, ip_sym, E. reflexivity. Qed.

Lemma shift a b : a <= b -> 0 <= b - a.
Proof. lra. Qed.

Section Inside.
Context {P : Problem} (M : Step P).
Hypothesis ok : setting M.

Lemma drift_nonneg : 0 <= drift M.
Proof.
  rewrite <- (expected_const M ok 0). apply (expected_le M ok). intros c k C. destruct ok as (_ & _ & _ & Hw & _).
  apply mean_nonneg; [apply (Hw c (proj1 C))|]. intros; apply ip_pos.
Qed.
Lemma Delta_nonneg : 0 <= Delta M.
Proof. rewrite <- (expected_const M ok 0). apply (expected_le M ok). intros; apply ip_pos. Qed.
Lemma gap_nonneg : 0 <= gap_t M.
Proof.
  rewrite <- (expected_const M ok 0). apply (expected_le M ok). intros c k C.
  destruct ok as (_ & _ & _ & _ & _ & _ & _ & Hopt & _). pose proof (Hopt (w M c k)). lra.
Qed.
Lemma Gamma_nonneg : 0 <= Gamma P.
Proof.
  destruct (ok) as (Hp & _). apply mean_nonneg; [assumption|]. intros; apply (excess_nonneg M ok); assumption.
Qed.

(* The local models of a round of tau steps have taken fewer; n bounds the square of the ratio of steps. *)
Section Drift.
Context (G_sq ratio n : R) (tau : nat).
Hypotheses (HG : bounded_gradient M G_sq) (Hr : 0 <= ratio) (Hn : ratio ^ 2 <= n) (Hs : steps_within M ratio)
  (Ht : in_round M tau) (H0 : 0 <= G_sq).
Lemma drift_taken q : INR (taken M) <= q -> drift M <= n * ((eta M) ^ 2 * q ^ 2 * G_sq).
Proof.
  intros Hq. eapply Rle_trans; [apply (drift_bound M ok G_sq ratio (taken M) HG Hr Hs (le_n _))|].
  pose proof (pos_INR (taken M)). assert (A : INR (taken M) ^ 2 <= q ^ 2) by nra.
  pose proof (pow2_ge_0 ratio). pose proof (pow2_ge_0 (eta M)). pose proof (pow2_ge_0 (INR (taken M))).
  rewrite !Rmult_assoc. apply Rmult_le_compat; [assumption|apply Rmult_le_pos; [|apply Rmult_le_pos]; assumption|assumption|].
  apply Rmult_le_compat_l; [assumption|]. apply Rmult_le_compat_r; assumption.
Qed.
Lemma drift_inside : drift M <= n * ((eta M) ^ 2 * (INR tau - 1) ^ 2 * G_sq).
Proof.
  apply drift_taken. replace (INR tau - 1) with (INR (tau - 1)).
  - apply le_INR. unfold in_round in Ht. lia.
  - rewrite minus_INR; [reflexivity|]. unfold in_round in Ht. lia.
Qed.
Lemma drift_round : drift M <= n * ((eta M) ^ 2 * INR tau ^ 2 * G_sq).
Proof. apply drift_taken. apply le_INR. unfold in_round in Ht. lia. Qed.
End Drift.

(* The step without its noise. *)
Definition ahead c k : V P := sub (w M c k) (scale (eta M) (slope M c k)).
Definition mean_noise_of c k s : V P := centre (N P) (alpha M c) (xi M c k s).
Lemma next_is c k s : w_next M c k s = sub (ahead c k) (scale (eta M) (mean_noise_of c k s)).
Proof.
  apply same_point. intros y. unfold w_next, ahead, sub. rewrite !ip_add, !ip_scale. unfold w, slope, mean_noise_of.
  rewrite !ip_centre.
  rewrite (mean_ext _ _ _ (fun i => ip (x M c k i) y + ((- eta M) * ip (grad P i (x M c k i)) y
    + (- eta M) * ip (xi M c k s i) y))) by (intros; unfold g; open_goal; ring).
  rewrite !mean_plus, !mean_times. ring.
Qed.
Lemma no_noise_expected c k y : seen M c k -> given_past M c k (fun s => ip (mean_noise_of c k s) y) = 0.
Proof.
  intros Hh. destruct ok as (_ & _ & _ & Hw & _ & Hz & _). destruct (Hw c (proj1 Hh)) as [Ha _].
  unfold given_past. rewrite (mean_ext _ _ _ (fun s => mean (N P) (alpha M c) (fun i => ip (xi M c k s i) y)))
    by (intros; apply ip_centre).
  rewrite mean_swap, (mean_ext _ _ _ (fun _ => 0)) by (intros i Hi; exact (Hz c k i y Hh Hi)).
  apply mean_const. assumption.
Qed.
Definition variance c k : R := given_past M c k (fun s => norm_sq (mean_noise_of c k s)).
Lemma square_after c k b u : seen M c k ->
  given_past M c k (fun s => norm_sq (add (scale b (w_next M c k s)) u))
  = norm_sq (add (scale b (ahead c k)) u) + b * b * (eta M * eta M * variance c k).
Proof.
  intros Hh. pose proof (no_noise_expected c k) as Z. destruct ok as (_ & _ & _ & _ & Ho & _).
  pose proof (Ho c k Hh) as Hs. set (d := add (scale b (ahead c k)) u).
  unfold given_past, variance in *. rewrite (mean_ext _ _ _ (fun s => norm_sq d
    + ((- (2 * b * eta M)) * ip (mean_noise_of c k s) d + (b * b * (eta M * eta M)) * norm_sq (mean_noise_of c k s)))).
  2:{ intros s _. rewrite next_is. set (n := mean_noise_of c k s).
      assert (Q : forall y, ip (add (scale b (sub (ahead c k) (scale (eta M) n))) u) y = ip d y - b * eta M * ip n y)
        by (intros y; unfold d; open_goal; ring).
      set (v := add (scale b (sub (ahead c k) (scale (eta M) n))) u) in *. unfold norm_sq.
      rewrite Q, (ip_sym _ d v), (ip_sym _ n v), !Q, (ip_sym _ d n). ring. }
  rewrite !mean_plus, !mean_times, (mean_const _ _ _ Hs). unfold given_past in *. rewrite (Z d Hh). ring.
Qed.
(* A loss after the step is below the quadratic bound from any points y, and half of L times what noise adds. *)
Lemma loss_after L c k y : smooth P L -> seen M c k ->
  given_past M c k (fun s => mean (N P) (p P) (fun i => F P i (w_next M c k s)))
  <= mean (N P) (p P) (fun i => F P i (y i) + ip (grad P i (y i)) (sub (ahead c k) (y i))
       + L / 2 * norm_sq (sub (ahead c k) (y i))) + L / 2 * (eta M * eta M * variance c k).
Proof.
  intros Hs Hh. pose proof (no_noise_expected c k) as Z. pose proof (square_after c k 1) as Q.
  destruct ok as (Hp & _ & _ & _ & Ho & _). pose proof (Ho c k Hh) as Hd. unfold given_past in *.
  rewrite mean_swap, <- (mean_const (N P) (p P) (L / 2 * (eta M * eta M * variance c k)) Hp), <- mean_plus.
  apply mean_le; [assumption|]. intros i Hi.
  eapply Rle_trans; [apply mean_le; [assumption|]; intros s _; apply (Hs i (y i)); assumption|]. right.
  rewrite (mean_ext _ _ _ (fun s => (F P i (y i) + ip (grad P i (y i)) (sub (ahead c k) (y i)))
    + ((- eta M) * ip (mean_noise_of c k s) (grad P i (y i))
    + L / 2 * norm_sq (add (scale 1 (w_next M c k s)) (scale (-1) (y i)))))).
  - rewrite !mean_plus, !mean_times, !(mean_const _ _ _ Hd), (Z _ Hh), (Q _ Hh), scale_one. unfold sub. ring.
  - intros s _. rewrite scale_one, next_is. set (n := mean_noise_of c k s). fold (sub (sub (ahead c k) (scale (eta M) n)) (y i)).
    set (q := norm_sq _). unfold sub. rewrite !ip_add_r, !ip_scale_r, (ip_sym _ n). ring.
Qed.
End Inside.

Ltac within_dissimilar M c k Hck := match goal with h : dissimilar M ?z |- mean _ _ _ <= ?z =>
  eapply Rle_trans; [|exact (h c k Hck)]; right; apply mean_ext; intros; apply same_square; intros; open_fact; ring end.
