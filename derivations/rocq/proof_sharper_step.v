From Coq Require Import Reals Lra Lia.
Require Import Space Model statement_sharper_step Facts.
Open Scope R_scope.

Theorem proof : statement_sharper_step.statement.
Proof.
  intros P M G2 L mu rb rt ok HG0 HL0 Hmu Hrb Hrt HL HG Hs Hc Hr Ht.
  destruct (ok) as (Hp & Hpos & Hch & Hw & Ho & _ & _ & _ & He).
  enough (Goal : Delta_next M <= (1 - eta M * mu * (1 + rb)) * Delta M + (eta M) ^ 2 * G2 + eta M * (L - mu) * drift M
    + 2 * eta M * Gamma P * (rt - rb)) by lra.
  unfold Delta, drift. rewrite <- !(expected_times M).
  rewrite <- (expected_const M ok ((eta M)^2 * G2)), <- (expected_const M ok (2 * eta M * Gamma P * (rt - rb))).
  rewrite <- !(expected_plus M). unfold Delta_next. apply (expected_le M ok). intros c k Hck.
  destruct (Hw c (proj1 Hck)) as [Ha _]. pose proof (Ho c k Hck) as Hod.
  rewrite (expand M ok c k Hck).
  set (D := norm_sq (sub (w M c k) (w_star P))).
  set (dr := mean (N P) (alpha M c) (fun i => norm_sq (sub (w M c k) (x M c k i)))).
  assert (B : given_past M c k (fun s => norm_sq (centre (N P) (alpha M c) (g M c k s))) <= G2).
  { eapply Rle_trans; [apply mean_le; [assumption|]; intros s _; apply jensen; assumption|].
    rewrite mean_swap. rewrite <- (mean_const (N P) (alpha M c) G2 Ha). apply mean_le; [assumption|].
    intros i Hi. apply (proj1 HG c k i Hck Hi). }
  assert (A : mean (N P) (alpha M c) (fun i => excess P i (w M c k)) - mean (N P) (alpha M c) (fun i => excess P i (w_star P))
     - L / 2 * dr + mu / 2 * (D + dr)
     <= mean (N P) (alpha M c) (fun i => ip (grad P i (x M c k i)) (sub (w M c k) (w_star P)))).
  { unfold D, dr, w. rewrite <- (spread (N P) (alpha M c) (x M c k) (w_star P) Ha).
    fold (w M c k). unfold Rminus at 1 2. rewrite !Ropp_mult_distr_l. rewrite <- !mean_times.
    replace (- mean (N P) (alpha M c) (fun i => excess P i (w_star P)))
      with (mean (N P) (alpha M c) (fun i => (-1) * excess P i (w_star P))) by (rewrite mean_times; ring).
    rewrite <- !mean_plus. apply mean_le; [assumption|]. intros i Hi.
    pose proof (Hs i (x M c k i) (w M c k) Hi) as U. pose proof (Hc i (x M c k i) (w_star P) Hi) as W.
    unfold excess.
    replace (norm_sq (sub (w_star P) (x M c k i))) with (norm_sq (sub (x M c k i) (w_star P))) in W
      by (bilinear; rewrite (ip_sym (V P) (x M c k i) (w_star P)); ring).
    replace (ip (grad P i (x M c k i)) (sub (w M c k) (w_star P)))
      with (ip (grad P i (x M c k i)) (sub (w M c k) (x M c k i)) - ip (grad P i (x M c k i)) (sub (w_star P) (x M c k i)))
      by (bilinear; ring).
    lra. }
  pose proof (growth M ok L mu (w M c k) Hs ltac:(lra) Hc) as Gr. fold D in Gr.
  pose proof (Hr c k Hck) as R1. pose proof (Ht c (proj1 Hck)) as R2.
  assert (T : rb * (Gamma P + mu / 2 * D) <= rb * mean (N P) (p P) (fun i => excess P i (w M c k)))
    by (apply Rmult_le_compat_l; assumption).
  assert (Q : 2 * eta M * (rb * (Gamma P + mu / 2 * D) - rt * Gamma P - L / 2 * dr + mu / 2 * (D + dr))
     <= 2 * eta M * mean (N P) (alpha M c) (fun i => ip (grad P i (x M c k i)) (sub (w M c k) (w_star P))))
    by (apply Rmult_le_compat_l; lra).
  assert (Y : eta M * eta M * given_past M c k (fun s => norm_sq (centre (N P) (alpha M c) (g M c k s))) <= eta M * eta M * G2)
    by (apply Rmult_le_compat_l; [nra|assumption]).
  lra.
Qed.
