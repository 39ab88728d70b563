(* How far the local models of a round drift from their mean: Lemma 2. *)
From Coq Require Import Reals Lra Lia.
Require Import Space Model Facts.
Open Scope R_scope.

Lemma vsum_scale_sq {V : Space} n (b : nat -> R) (f : nat -> V) :
  norm_sq (vsum n (fun s => scale (b s) (f s))) <= INR n * sum n (fun s => b s * b s * norm_sq (f s)).
Proof.
  induction n as [|n IH]; simpl vsum; simpl sum; [bilinear; lra|].
  set (u := vsum n (fun s => scale (b s) (f s))) in *. set (q := sum n _) in *. rewrite S_INR.
  assert (Hq : 0 <= q).
  { unfold q. rewrite <- (sum_zero n). apply sum_le. intros. pose proof (ip_pos V (f i)). unfold norm_sq. nra. }
  assert (Hn : 0 <= INR n) by apply pos_INR.
  set (e := b n * b n * norm_sq (f n)).
  assert (E : norm_sq (add u (scale (b n) (f n))) = norm_sq u + 2 * ip u (scale (b n) (f n)) + e)
    by (unfold e; bilinear; rewrite (ip_sym V (f n) u); ring).
  rewrite E. assert (He : 0 <= e) by (unfold e; pose proof (ip_pos V (f n)); unfold norm_sq; nra).
  destruct n as [|n]; [simpl in *; unfold u; simpl; rewrite ip_zero; unfold norm_sq in *; rewrite ip_zero in *; lra|].
  set (m := INR (Datatypes.S n)) in *. assert (Hm : 0 < m) by (unfold m; apply lt_0_INR; lia).
  (* 2 <u, v> <= ||u||^2 / m + m ||v||^2 *)
  pose proof (ip_pos V (sub (scale (/ m) u) (scale (b (Datatypes.S n)) (f (Datatypes.S n))))) as Y.
  assert (Y2 : 2 * ip u (scale (b (Datatypes.S n)) (f (Datatypes.S n))) <= / m * norm_sq u + m * e).
  { unfold e. unfold sub in Y. bilinear. rewrite (ip_sym V (f (Datatypes.S n)) u) in Y.
    set (a := ip u u) in *. set (z := ip u (f (Datatypes.S n))) in *. set (y := ip (f (Datatypes.S n)) (f (Datatypes.S n))) in *.
    set (t := b (Datatypes.S n)) in *.
    assert (0 <= m * (/ m * (/ m * a) - 2 * / m * (t * z) + t * (t * y))) by (apply Rmult_le_pos; [lra|]; nra).
    replace (m * (/ m * (/ m * a) - 2 * / m * (t * z) + t * (t * y))) with (/ m * a - 2 * (t * z) + m * (t * t * y)) in H by (field; lra).
    lra. }
  assert (Z : / m * norm_sq u <= q).
  { apply (Rmult_le_reg_l m); [assumption|]. rewrite <- Rmult_assoc, Rinv_r, Rmult_1_l by lra. assumption. }
  nra.
Qed.

Section Lemma2.
Context {P : Problem} (M : Step P).
Hypothesis ok : setting M.

Lemma drift_bound G_sq ratio tau : bounded_gradient M G_sq -> 0 <= ratio -> steps_within M ratio -> (taken M <= tau)%nat ->
  drift M <= ratio ^ 2 * (eta M) ^ 2 * (INR tau) ^ 2 * G_sq.
Proof.
  destruct ok as (_ & _ & Hch & Hw & Ho & _ & _ & _ & He). intros [HG Hpast] Hr0 Hslow Htau.
  set (n := taken M). set (bound := ratio ^ 2 * (eta M) ^ 2 * (INR tau) ^ 2 * G_sq).
  unfold drift, expected. rewrite <- (mean_const (H M) (chance M) bound Hch). apply mean_le; [assumption|]. intros c C.
  destruct (Hw c C) as [Ha Hl].
  assert (Hn : 0 <= INR n) by apply pos_INR.
  assert (Hnt : INR n <= INR tau) by (apply le_INR; unfold n; lia).
  assert (D : forall k, mean (N P) (alpha M c) (fun i => norm_sq (sub (w M c k) (x M c k i)))
    <= mean (N P) (alpha M c) (fun i => INR n * sum n (fun s => before M s * before M s * norm_sq (past M c k s i)))).
  { intros k. eapply Rle_trans with (mean (N P) (alpha M c) (fun i => norm_sq (sub (x M c k i) (begin M c)))).
    - rewrite (spread (N P) (alpha M c) (x M c k) (begin M c) Ha). fold (w M c k).
      pose proof (ip_pos (V P) (sub (w M c k) (begin M c))). unfold norm_sq. lra.
    - apply mean_le; [assumption|]. intros i Hi.
      replace (norm_sq (sub (x M c k i) (begin M c))) with (norm_sq (vsum n (fun s => scale (before M s) (past M c k s i)))).
      + apply vsum_scale_sq.
      + unfold x. fold n. set (v := vsum n _). bilinear. rewrite (ip_sym (V P) v (begin M c)). ring. }
  unfold since_start. eapply Rle_trans; [apply mean_le; [assumption|]; intros k _; apply D|].
  rewrite mean_swap. rewrite <- (mean_const (N P) (alpha M c) bound Ha). apply mean_le; [assumption|]. intros i Hi.
  rewrite mean_times. unfold mean at 1.
  rewrite (sum_ext _ _ (fun k => sum n (fun s => luck M c k * (before M s * before M s * norm_sq (past M c k s i)))))
    by (intros; symmetry; apply sum_times).
  rewrite sum_swap.
  assert (HG0 : forall s, (s < n)%nat -> 0 <= since_start M c (fun k => norm_sq (past M c k s i)) <= G_sq).
  { intros s Hs. split; [apply mean_nonneg; [assumption|]; intros; apply ip_pos|]. apply Hpast; assumption. }
  eapply Rle_trans with (INR n * sum n (fun s => ratio ^ 2 * (eta M) ^ 2 * G_sq)).
  - apply Rmult_le_compat_l; [assumption|]. apply sum_le. intros s Hs.
    rewrite (sum_ext _ _ (fun k => before M s * before M s * (luck M c k * norm_sq (past M c k s i)))) by (intros; ring).
    rewrite sum_times. fold (mean (K M c) (luck M c) (fun k => norm_sq (past M c k s i))).
    pose proof (HG0 s Hs) as B. unfold since_start in B. destruct (Hslow s Hs) as [S1 S2].
    assert (before M s * before M s <= ratio ^ 2 * (eta M) ^ 2) by (replace (ratio ^ 2 * (eta M) ^ 2) with ((ratio * eta M) * (ratio * eta M)) by ring; apply Rmult_le_compat; lra).
    assert (0 <= before M s * before M s) by nra. nra.
  - unfold bound. destruct (Nat.eq_dec n 0) as [En|En].
    + assert (Ht : 0 <= INR tau) by apply pos_INR.
      (* no step taken: G_sq >= 0 follows from a second moment *)
      assert (0 <= G_sq).
      { destruct (Nat.eq_dec (K M c) 0) as [Z|Z].
        - destruct Hl as [_ Hl]. rewrite Z in Hl. simpl in Hl. lra.
        - assert (Sk : seen M c 0) by (split; [assumption|lia]).
          eapply Rle_trans; [|apply (HG c 0%nat i Sk); lia]. apply mean_nonneg; [apply (Ho c 0%nat Sk)|]. intros; apply ip_pos. }
      rewrite En. change (INR 0) with 0. rewrite Rmult_0_l.
      assert (0 <= (eta M) ^ 2) by apply pow2_ge_0. assert (0 <= (INR tau) ^ 2) by apply pow2_ge_0. assert (0 <= ratio ^ 2) by apply pow2_ge_0.
      repeat apply Rmult_le_pos; lra.
    + rewrite sum_const. assert (0 <= G_sq) by (assert (Q : (0 < n)%nat) by lia; pose proof (HG0 0%nat Q); lra).
      assert (INR n * INR n <= INR tau * INR tau) by nra.
      assert (0 <= ratio ^ 2 * (eta M) ^ 2 * G_sq) by (apply Rmult_le_pos; [apply Rmult_le_pos; apply pow2_ge_0|assumption]). nra.
Qed.
End Lemma2.
