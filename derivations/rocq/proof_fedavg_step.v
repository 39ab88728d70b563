From Coq Require Import Reals Lra Lia.
Require Import Space Model statement_fedavg_step Facts.
Open Scope R_scope.

Theorem proof : statement_fedavg_step.statement.
Proof.
  intros P M L mu pmax pmin s2 ok HL0 Hmu Hmax0 Hmin0 Hs2 HL Hmin1 Hmax1 Heta Hs Hc Hmax Hmin Hv.
  assert (Hp : forall c i, (c < H M)%nat -> (i < N P)%nat -> alpha M c i = p P i).
  { intros c i C I. pose proof (Hmax c i C I). pose proof (Hmin c i C I). rewrite Hmax1 in *. rewrite Hmin1 in *. lra. }
  enough (Goal : Delta_next M <= (1 - eta M * mu) ^ 2 * Delta M + (1 - eta M * mu) * eta M * (L - mu) / 2 * drift M
    + (eta M) ^ 2 * s2) by lra.
  destruct (ok) as (Hpw & Hpos & Hch & Hw & Ho & _ & _ & _ & He).
  unfold Delta, drift. rewrite <- !(expected_times M), <- (expected_const M ok ((eta M)^2 * s2)), <- !(expected_plus M).
  unfold Delta_next. apply (expected_le M ok). intros c k Hck. destruct (Hw c (proj1 Hck)) as [Ha _].
  rewrite (expand_noise M ok c k Hck). pose proof (noise_bound M ok s2 c k Hck Hv) as Nz.
  set (noise := given_past M c k _) in *.
  set (D := sub (w M c k) (w_star P)). set (al := alpha M c) in *. set (n := N P) in *.
  set (dr := mean n al (fun i => norm_sq (sub (w M c k) (x M c k i)))).
  (* a_i = k_i - s_i, the tilted gradients against those at w_star *)
  set (o := w_star P). set (a := fun i => sub (tilt mu o i (x M c k i)) (tilt mu o i o)). set (A := centre n al a).
  assert (Hal : forall f, mean n al f = mean n (p P) f).
  { intros f. unfold mean. apply sum_ext. intros i Hi. unfold al. rewrite (Hp c i (proj1 Hck) Hi). reflexivity. }
  (* the mean gradient is mu D + A *)
  assert (Sl : forall y, ip (slope M c k) y = mu * ip D y + ip A y).
  { intros y. unfold slope, A. rewrite !ip_centre. fold al n. unfold D, w. unfold sub at 1. rewrite ip_add, ip_scale, ip_centre. fold al n.
    rewrite (mean_ext n al (fun i => ip (grad P i (x M c k i)) y)
      (fun i => mu * ip (x M c k i) y + (- mu * ip o y + (ip (a i) y + ip (grad P i o) y)))).
    2:{ intros i Hi. unfold a, tilt. unfold sub. repeat rewrite ?ip_add, ?ip_scale. ring. }
    rewrite !mean_plus, mean_times, (mean_const _ _ _ Ha), (Hal (fun i => ip (grad P i o) y)).
    unfold n, o. rewrite (stationary M ok L y Hs) by lra. fold o. ring. }
  (* l <a_i, x_i - w*> >= ||a_i||^2 *)
  assert (Co : forall i, (i < n)%nat -> norm_sq (a i) <= (L - mu) * ip (a i) (sub (x M c k i) o)).
  { intros i Hi. pose proof (interpolation L mu o i o (x M c k i) Hs Hc HL Hi) as I1.
    pose proof (interpolation L mu o i (x M c k i) o Hs Hc HL Hi) as I2.
    fold (a i) in I1.
    replace (norm_sq (sub (tilt mu o i o) (tilt mu o i (x M c k i)))) with (norm_sq (a i)) in I2
      by (unfold a; generalize (tilt mu o i (x M c k i)) (tilt mu o i o); intros; open_goal; rewrite (ip_sym _ p0 p1) || idtac; ring).
    assert (E : ip (a i) (sub (x M c k i) o) = - ip (tilt mu o i o) (sub (x M c k i) o) - ip (tilt mu o i (x M c k i)) (sub o (x M c k i)))
      by (unfold a; generalize (tilt mu o i (x M c k i)) (tilt mu o i o); intros; open_goal; ring).
    rewrite E. lra. }
  (* <A, D> = mean <a_i, x_i - w*> + mean <a_i - A, w - x_i> *)
  set (cross := mean n al (fun i => ip (sub (a i) A) (sub (w M c k) (x M c k i)))).
  assert (AD : ip A D = mean n al (fun i => ip (a i) (sub (x M c k i) o)) + cross).
  { unfold cross. rewrite (mean_ext n al (fun i => ip (sub (a i) A) (sub (w M c k) (x M c k i)))
      (fun i => ip (a i) D + ((-1) * ip (a i) (sub (x M c k i) o) + ((-1) * ip A D + ip (x M c k i) A + (-1) * ip o A)))).
    2:{ intros i Hi. unfold D. fold o. generalize (a i) A o (x M c k i) (w M c k). intros a0 A0 o0 x0 w0. open_goal. rewrite (ip_sym _ x0 A0), (ip_sym _ o0 A0). ring. }
    rewrite !mean_plus, !mean_times, !(mean_const _ _ _ Ha), <- !ip_centre. fold A. fold al n. 
    change (centre n al (x M c k)) with (w M c k). unfold D. fold o. generalize A o (w M c k). intros A0 o0 w0. open_goal. rewrite (ip_sym _ w0 A0), (ip_sym _ o0 A0). ring. }
  (* spread of the a_i *)
  pose proof (spread n al a zero Ha) as Sp. fold A in Sp.
  set (var := mean n al (fun i => norm_sq (sub A (a i)))) in *.
  assert (Sp2 : mean n al (fun i => norm_sq (a i)) = norm_sq A + var).
  { rewrite (mean_ext n al _ (fun i => norm_sq (sub (a i) zero))) by (intros; open_goal; ring). rewrite Sp. f_equal. open_goal. ring. }
  assert (Cm : norm_sq A + var <= (L - mu) * mean n al (fun i => ip (a i) (sub (x M c k i) o))).
  { rewrite <- Sp2, <- mean_times. apply mean_le; [assumption|]. intros i Hi. apply Co; assumption. }
  (* l cross >= - var - l^2/4 drift *)
  assert (Cr : - var - (L - mu) * (L - mu) / 4 * dr <= (L - mu) * cross).
  { enough (Y : mean n al (fun i => -1 * norm_sq (sub A (a i)) + - ((L - mu) * (L - mu) / 4) * norm_sq (sub (w M c k) (x M c k i)))
      <= mean n al (fun i => (L - mu) * ip (sub (a i) A) (sub (w M c k) (x M c k i)))).
    { rewrite mean_plus, !mean_times in Y. fold var dr cross in Y. lra. }
    apply mean_le; [assumption|]. intros i Hi.
    pose proof (ip_pos _ (add (sub (a i) A) (scale ((L - mu) / 2) (sub (w M c k) (x M c k i))))) as Y.
    assert (Z : norm_sq (sub A (a i)) = norm_sq (sub (a i) A)) by (generalize (a i) A; intros a0 A0; open_goal; rewrite (ip_sym _ A0 a0); ring). rewrite Z.
    revert Y. generalize (sub (a i) A) (sub (w M c k) (x M c k i)). intros u v Y.
    rewrite ip_add, !ip_add_r, !ip_scale, !ip_scale_r, (ip_sym _ v u) in Y. unfold norm_sq. lra. }
  (* the step *)
  set (e := eta M) in *.
  assert (St : norm_sq (sub D (scale e (slope M c k))) = (1 - e * mu) * (1 - e * mu) * norm_sq D - 2 * e * (1 - e * mu) * ip A D + e * e * norm_sq A).
  { pose proof (Sl D) as S1. pose proof (Sl (slope M c k)) as S2. pose proof (Sl A) as S3.
    rewrite (ip_sym _ D (slope M c k)), (ip_sym _ A (slope M c k)) in S2. revert S1 S2 S3. generalize D A (slope M c k). intros D1 A1 v S1 S2 S3.
    open_goal. rewrite (ip_sym _ D1 v), S2, S3, S1, (ip_sym _ D1 A1). ring. }
  rewrite St. fold dr. fold (norm_sq D) .
  assert (N0 : 0 <= norm_sq A) by apply ip_pos.
  assert (V0 : 0 <= var) by (apply mean_nonneg; [assumption|]; intros; apply ip_pos).
  assert (D0 : 0 <= dr) by (apply mean_nonneg; [assumption|]; intros; apply ip_pos).
  assert (K0 : 0 <= 1 - e * mu) by nra.
  assert (Key : norm_sq A - (L - mu) * (L - mu) / 4 * dr <= (L - mu) * ip A D) by (rewrite AD; lra).
  assert (Fin : e * norm_sq A - (1 - e * mu) * (L - mu) / 2 * dr <= 2 * (1 - e * mu) * ip A D).
  { destruct (Req_dec L mu) as [q|q].
    - assert (Z : norm_sq A = 0) by (rewrite q in Key; lra). apply ip_definite in Z. rewrite Z. unfold norm_sq. rewrite !ip_zero. rewrite q. lra.
    - assert (0 < L - mu) by lra. apply (Rmult_le_reg_l (L - mu)); [assumption|].
      assert ((1 - e * mu) * (2 * (norm_sq A - (L - mu) * (L - mu) / 4 * dr)) <= (1 - e * mu) * (2 * ((L - mu) * ip A D))) by (apply Rmult_le_compat_l; lra).
      assert (e * (L - mu) * norm_sq A <= 2 * (1 - e * mu) * norm_sq A) by (apply Rmult_le_compat_r; [assumption|]; nra). lra. }
  assert (Fe : e * (e * norm_sq A - (1 - e * mu) * (L - mu) / 2 * dr) <= e * (2 * (1 - e * mu) * ip A D)) by (apply Rmult_le_compat_l; lra).
  assert (Ne : e * e * noise <= e * e * s2) by (apply Rmult_le_compat_l; [nra|assumption]).
  replace (e ^ 2) with (e * e) by ring. replace ((1 - e * mu) ^ 2) with ((1 - e * mu) * (1 - e * mu)) by ring. lra.
Qed.
