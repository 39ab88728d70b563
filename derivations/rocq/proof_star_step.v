From Coq Require Import Reals Lra Lia.
Require Import Space Model statement_star_step Facts.
Open Scope R_scope.

Theorem proof : statement_star_step.statement.
Proof.
  intros P M L mu pm rb rt s2 ok HL0 Hmu Hpm Hrb Hrt Hs2 HL Heta' Hs Hc Hpi Hr Ht Hv.
  assert (Heta : eta M * L < 1) by lra.
  enough (Goal : Delta_next M <= (1 - eta M * mu) * (1 - eta M * mu * rb) * Delta M
     + (1 - eta M * mu) * eta M * (L - mu) * drift M
     + (1 - eta M * mu) * (eta M) ^ 2 * 2 * L * Gamma P * ((1 - pm) * (rt - pm)) / (1 - eta M * L)
     + (eta M) ^ 2 * s2 + (1 - eta M * mu) * 2 * eta M * Gamma P * (rt - rb)).
  { eapply Rle_trans; [exact Goal|]. right. field. lra. }
  destruct (ok) as (Hpw & Hpos & Hch & Hw & Ho & _ & _ & _ & He).
  set (G := Gamma P). set (e := eta M) in *. set (o := w_star P).
  set (het := (1 - e * mu) * e ^ 2 * 2 * L * G * ((1 - pm) * (rt - pm)) / (1 - e * L)).
  set (bias := (1 - e * mu) * 2 * e * G * (rt - rb)).
  unfold Delta, drift. rewrite <- !(expected_times M), <- (expected_const M ok (e^2 * s2)), <- (expected_const M ok het),
    <- (expected_const M ok bias), <- !(expected_plus M).
  unfold Delta_next. apply (expected_le M ok). intros c k Hck. destruct (Hw c (proj1 Hck)) as [Ha _].
  rewrite (expand_noise M ok c k Hck). pose proof (noise_bound M ok s2 c k Hck Hv) as Nz. fold e.
  set (noise := given_past M c k _) in *.
  set (D := sub (w M c k) (w_star P)). set (al := alpha M c) in *. set (n := N P) in *.
  set (dr := mean n al (fun i => norm_sq (sub (w M c k) (x M c k i)))).
  set (kk := fun i => tilt mu o i (x M c k i)). set (ss := fun i => tilt mu o i o).
  set (A := centre n al kk). set (s := centre n al ss).
  set (q := mean n al (fun i => norm_sq (sub (kk i) (ss i)))).
  assert (e0 : 0 < e) by exact He.
  assert (K0 : 0 < 1 - e * L) by lra. assert (K1 : 0 < 1 - e * mu) by nra.
  (* the mean gradient is mu D + A *)
  assert (Sl : forall y, ip (slope M c k) y = mu * ip D y + ip A y).
  { intros y. unfold slope, A. rewrite !ip_centre. fold al n. unfold D, w. unfold sub at 1. rewrite ip_add, ip_scale, ip_centre. fold al n.
    rewrite (mean_ext n al (fun i => ip (grad P i (x M c k i)) y)
      (fun i => mu * ip (x M c k i) y + (- mu * ip o y + ip (kk i) y))).
    2:{ intros i Hi. unfold kk, tilt. unfold sub. repeat rewrite ?ip_add, ?ip_scale. ring. }
    rewrite !mean_plus, mean_times, (mean_const _ _ _ Ha). fold o. ring. }
  (* <A, D> from below *)
  pose proof (growth M ok L mu (w M c k) Hs ltac:(lra) Hc) as Gr. fold D G in Gr.
  pose proof (Hr c k Hck) as R1. pose proof (Ht c (proj1 Hck)) as R2. fold n al G o in R1, R2.
  assert (T : rb * (G + mu / 2 * norm_sq D) <= rb * mean n (p P) (fun i => excess P i (w M c k))) by (apply Rmult_le_compat_l; assumption).
  assert (Below : 2 * (L - mu) * (rb * (G + mu / 2 * norm_sq D) - rt * G - mu / 2 * norm_sq D - (L - mu) / 2 * dr) + q
      <= 2 * (L - mu) * ip A D).
  { assert (Y : mean n al (fun i => norm_sq (sub (kk i) (ss i)) + 2 * (L - mu) * (excess P i (w M c k) + (- 1 * excess P i o
        + (- (mu / 2) * norm_sq D + - ((L - mu) / 2) * norm_sq (sub (w M c k) (x M c k i))))))
      <= mean n al (fun i => 2 * (L - mu) * ip (kk i) D)).
    { apply mean_le; [assumption|]. intros i Hi.
      pose proof (interpolation L mu o i (x M c k i) o Hs Hc HL Hi) as I2. fold (kk i) (ss i) in I2.
      assert (Sw : norm_sq (sub (ss i) (kk i)) = norm_sq (sub (kk i) (ss i))).
      { generalize (ss i) (kk i). intros u v. open_goal. rewrite (ip_sym _ u v). ring. }
      rewrite Sw in I2. pose proof (Hs i (x M c k i) (w M c k) Hi) as U.
      assert (U2 : level mu o i (w M c k) <= level mu o i (x M c k i) + ip (kk i) (sub (w M c k) (x M c k i)) + (L - mu) / 2 * norm_sq (sub (w M c k) (x M c k i))).
      { unfold level, kk, tilt. generalize dependent (F P i (w M c k)). intros Fw U. eapply Rle_trans; [apply Rplus_le_compat_r; exact U|]. right.
        generalize (w M c k) (x M c k i) o (F P i (x M c k i)) (grad P i (x M c k i)). intros w0 x0 o0 f g0. open_goal.
        rewrite (ip_sym _ w0 x0), (ip_sym _ w0 o0), (ip_sym _ x0 o0). field. }
      assert (V1 : level mu o i o = F P i o) by (unfold level; open_goal; field).
      assert (V2 : level mu o i (w M c k) = F P i (w M c k) - mu / 2 * norm_sq D) by reflexivity.
      assert (V3 : ip (kk i) D = ip (kk i) (sub (w M c k) (x M c k i)) - ip (kk i) (sub o (x M c k i))).
      { unfold D. fold o. generalize (kk i) (w M c k) (x M c k i) o. intros. open_goal. ring. }
      unfold excess. rewrite V3. rewrite V1 in I2. rewrite V2 in U2.
      assert (2 * (L - mu) * (F P i (w M c k) - mu / 2 * norm_sq D) <= 2 * (L - mu) * (level mu o i (x M c k i) + ip (kk i) (sub (w M c k) (x M c k i)) + (L - mu) / 2 * norm_sq (sub (w M c k) (x M c k i)))) as U3 by (apply Rmult_le_compat_l; lra).
      clear - I2 U3. revert I2 U3. generalize (norm_sq (sub (kk i) (ss i))) (level mu o i (x M c k i)) (ip (kk i) (sub (w M c k) (x M c k i)))
        (ip (kk i) (sub o (x M c k i))) (norm_sq D) (norm_sq (sub (w M c k) (x M c k i))) (F P i (w M c k)) (F P i o) (F P i (w_i_star P i)).
      intros. lra. }
    rewrite mean_plus, !mean_times, !mean_plus, !mean_times, (mean_const _ _ _ Ha) in Y. rewrite <- ip_centre in Y. fold A q dr in Y.
    assert (2 * (L - mu) * (rb * (G + mu / 2 * norm_sq D) - rt * G) <= 2 * (L - mu) * (mean n al (fun i => excess P i (w M c k)) - mean n al (fun i => excess P i o))) by (apply Rmult_le_compat_l; lra).
    lra. }
  (* ||s||^2 *)
  assert (Ss : norm_sq s <= 2 * L * G * ((1 - pm) * (rt - pm))).
  { set (b := fun i => al i - pm * p P i).
    assert (Hb : forall i, (i < n)%nat -> 0 <= b i) by (intros i Hi; unfold b; pose proof (Hpi c i (proj1 Hck) Hi); unfold al; lra).
    assert (Es : norm_sq s = norm_sq (centre n b ss)).
    { assert (Q : forall y, ip s y = ip (centre n b ss) y).
      { intros y. unfold s. rewrite !ip_centre.
        assert (Z : mean n (p P) (fun i => ip (ss i) y) = 0).
        { rewrite <- (stationary M ok L y Hs) by lra. apply mean_ext. intros i Hi. unfold ss, tilt. fold o. open_goal. ring. }
        assert (B : mean n b (fun i => ip (ss i) y) = mean n al (fun i => ip (ss i) y) - pm * mean n (p P) (fun i => ip (ss i) y)).
        { unfold b, mean. rewrite <- sum_times. unfold Rminus. rewrite <- (Rmult_1_l (sum n (fun i => pm * _))), Ropp_mult_distr_l, <- sum_times, <- sum_plus.
          apply sum_ext; intros; ring. }
        rewrite B, Z. ring. }
      unfold norm_sq. rewrite Q, ip_sym, Q. reflexivity. }
    assert (Sb : sum n b = 1 - pm).
    { unfold b. rewrite (sum_ext n _ (fun i => al i + - pm * p P i)) by (intros; ring). rewrite sum_plus, sum_times.
      destruct Ha as [_ Ha1]. destruct Hpw as [_ Hp1]. unfold n, al in *. rewrite Ha1, Hp1. ring. }
    rewrite Es. eapply Rle_trans; [apply cauchy; assumption|]. rewrite Sb.
    assert (B0 : 0 <= 1 - pm) by (rewrite <- Sb, <- (sum_zero n); apply sum_le; assumption).
    assert (Mb : mean n b (fun i => norm_sq (ss i)) <= 2 * L * (G * (rt - pm))).
    { eapply Rle_trans with (mean n b (fun i => 2 * L * excess P i o)).
      - unfold mean. apply sum_le. intros i Hi. apply Rmult_le_compat_l; [apply Hb; assumption|].
        replace (norm_sq (ss i)) with (norm_sq (grad P i o)) by (unfold ss, tilt; open_goal; ring).
        apply (gradient_gap M ok); [assumption|lra|assumption].
      - rewrite mean_times.
        assert (mean n b (fun i => excess P i o) = mean n al (fun i => excess P i o) - pm * G).
        { unfold G, Gamma, b, mean. fold n o. rewrite <- sum_times. unfold Rminus.
          rewrite <- (Rmult_1_l (sum n (fun i => pm * _))), Ropp_mult_distr_l, <- sum_times, <- sum_plus. apply sum_ext; intros; ring. }
        assert (0 < 2 * L) by lra. nra. }
    assert ((1 - pm) * mean n b (fun i => norm_sq (ss i)) <= (1 - pm) * (2 * L * (G * (rt - pm)))) by (apply Rmult_le_compat_l; assumption). lra. }
  (* e ||A||^2 against q / (L - mu) and ||s||^2 *)
  set (u := sub A s).
  assert (Uq : norm_sq u <= q).
  { unfold u, q. assert (E : norm_sq (sub A s) = norm_sq (centre n al (fun i => sub (kk i) (ss i)))).
    { assert (Q : forall y, ip (sub A s) y = ip (centre n al (fun i => sub (kk i) (ss i))) y).
      { intros y. unfold sub at 1. rewrite ip_add, ip_scale. unfold A, s. rewrite !ip_centre.
        rewrite (mean_ext n al (fun i => ip (sub (kk i) (ss i)) y) (fun i => ip (kk i) y + -1 * ip (ss i) y)).
        2:{ intros i Hi. generalize (kk i) (ss i). intros. open_goal. ring. }
        rewrite mean_plus, mean_times. reflexivity. }
      unfold norm_sq. rewrite Q, ip_sym, Q. reflexivity. }
    rewrite E. apply jensen; assumption. }
  assert (Au : norm_sq A = norm_sq u + 2 * ip u s + norm_sq s).
  { unfold u. generalize A s. intros A1 s1. open_goal. rewrite (ip_sym _ s1 A1). ring. }
  assert (q0 : 0 <= q) by (apply mean_nonneg; [assumption|]; intros; apply ip_pos).
  assert (Cr : (1 - e * L) * (e * (L - mu)) * norm_sq A <= (1 - e * mu) * ((1 - e * L) * norm_sq u + e * (L - mu) * norm_sq s)).
  { rewrite Au. pose proof (ip_pos _ (sub (scale (1 - e * L) u) (scale (e * (L - mu)) s))) as Y.
    assert (Yn : 0 <= (1 - e * L) * (1 - e * L) * norm_sq u - 2 * ((1 - e * L) * (e * (L - mu))) * ip u s + (e * (L - mu)) * (e * (L - mu)) * norm_sq s).
    { revert Y. generalize u s. intros u1 s1 Y. unfold sub in Y. repeat (rewrite ?ip_add, ?ip_add_r, ?ip_scale, ?ip_scale_r in Y). rewrite (ip_sym _ s1 u1) in Y. unfold norm_sq. lra. }
    nra. }
  assert (Main : e * e * norm_sq A + 2 * e * (1 - e * mu) * (rb * (G + mu / 2 * norm_sq D) - rt * G - mu / 2 * norm_sq D - (L - mu) / 2 * dr) <= het + 2 * e * (1 - e * mu) * ip A D).
  { assert (Hh : (1 - e * L) * het = (1 - e * mu) * (e * e) * (2 * L * G * ((1 - pm) * (rt - pm)))) by (unfold het; field; lra).
    set (Z := rb * (G + mu / 2 * norm_sq D) - rt * G - mu / 2 * norm_sq D - (L - mu) / 2 * dr) in *.
    assert (Hs' : (1 - e * mu) * (e * e) * norm_sq s <= (1 - e * L) * het) by (rewrite Hh; apply Rmult_le_compat_l; [nra|assumption]).
    destruct (Req_dec L mu) as [r|r].
    - assert (qz : q = 0).
      { unfold q. rewrite (mean_ext n al _ (fun _ => 0)); [apply mean_const; assumption|]. intros i Hi.
        pose proof (interpolation L mu o i (x M c k i) o Hs Hc HL Hi) as I2. fold (kk i) (ss i) in I2.
        assert (Sw : norm_sq (sub (ss i) (kk i)) = norm_sq (sub (kk i) (ss i))).
        { generalize (ss i) (kk i). intros u1 v1. open_goal. rewrite (ip_sym _ u1 v1). ring. }
        rewrite Sw, r in I2. pose proof (ip_pos _ (sub (kk i) (ss i))) as W. fold (norm_sq (sub (kk i) (ss i))) in W. lra. }
      assert (uz : norm_sq u = 0) by (pose proof (ip_pos _ u) as W; fold (norm_sq u) in W; lra).
      apply ip_definite in uz. assert (As : norm_sq A = norm_sq s) by (rewrite Au, uz; unfold norm_sq; rewrite !ip_zero; ring).
      (* with L = mu the lower bound on <A, D> comes from smoothness alone *)
      assert (Low : Z <= ip A D).
      { unfold Z. replace ((L - mu) / 2 * dr) with 0 by (rewrite r; field).
        assert (Y : mean n al (fun i => excess P i (w M c k) + (- 1 * excess P i o + - (mu / 2) * norm_sq D)) <= mean n al (fun i => ip (kk i) D)).
        { apply mean_le; [assumption|]. intros i Hi. unfold excess.
          pose proof (Hs i (x M c k i) (w M c k) Hi) as U. pose proof (Hc i (x M c k i) o Hi) as W. rewrite r in U.
          assert (E : ip (kk i) D = ip (grad P i (x M c k i)) (sub (w M c k) (x M c k i)) - ip (grad P i (x M c k i)) (sub o (x M c k i))
             - mu * ip (sub (x M c k i) o) (sub (w M c k) o)).
          { unfold kk, tilt, D. fold o. generalize (grad P i (x M c k i)) (w M c k) (x M c k i) o. intros. open_goal. ring. }
          assert (E2 : mu / 2 * norm_sq (sub (w M c k) (x M c k i)) = mu / 2 * norm_sq D + mu / 2 * norm_sq (sub o (x M c k i)) - mu * ip (sub (x M c k i) o) (sub (w M c k) o)).
          { unfold D. fold o. generalize (w M c k) (x M c k i) o. intros w0 x0 o0. open_goal. rewrite (ip_sym _ w0 x0), (ip_sym _ w0 o0), (ip_sym _ x0 o0). field. }
          rewrite E. lra. }
        rewrite !mean_plus, mean_times, (mean_const _ _ _ Ha), <- ip_centre in Y. fold A in Y. lra. }
      rewrite As. rewrite r in Hs', K0.
      assert (e * e * norm_sq s <= het) by (apply (Rmult_le_reg_l (1 - e * mu)); [assumption|]; lra).
      assert (2 * e * (1 - e * mu) * Z <= 2 * e * (1 - e * mu) * ip A D) by (apply Rmult_le_compat_l; [nra|assumption]). lra.
    - assert (l0 : 0 < L - mu) by lra. apply (Rmult_le_reg_l ((1 - e * L) * (L - mu))); [apply Rmult_lt_0_compat; assumption|].
      assert (C2 : (1 - e * L) * norm_sq u <= (1 - e * L) * q) by (apply Rmult_le_compat_l; lra).
      assert (C3 : (1 - e * mu) * ((1 - e * L) * norm_sq u + e * (L - mu) * norm_sq s) <= (1 - e * mu) * ((1 - e * L) * q + e * (L - mu) * norm_sq s)) by (apply Rmult_le_compat_l; lra).
      assert (C4 : e * ((1 - e * L) * (e * (L - mu)) * norm_sq A) <= e * ((1 - e * mu) * ((1 - e * L) * q + e * (L - mu) * norm_sq s))) by (apply Rmult_le_compat_l; lra).
      assert (C5 : (1 - e * L) * e * (1 - e * mu) * (2 * (L - mu) * Z + q) <= (1 - e * L) * e * (1 - e * mu) * (2 * (L - mu) * ip A D)).
      { apply Rmult_le_compat_l; [|assumption]. apply Rmult_le_pos; [|lra]. apply Rmult_le_pos; lra. }
      assert (C6 : (L - mu) * ((1 - e * mu) * (e * e) * norm_sq s) <= (L - mu) * ((1 - e * L) * het)) by (apply Rmult_le_compat_l; lra).
      lra. }
  assert (St : norm_sq (sub D (scale e (slope M c k))) = (1 - e * mu) * (1 - e * mu) * norm_sq D - 2 * e * (1 - e * mu) * ip A D + e * e * norm_sq A).
  { pose proof (Sl D) as S1. pose proof (Sl (slope M c k)) as S2. pose proof (Sl A) as S3.
    rewrite (ip_sym _ D (slope M c k)), (ip_sym _ A (slope M c k)) in S2. revert S1 S2 S3. generalize D A (slope M c k). intros D1 A1 v S1 S2 S3.
    open_goal. rewrite (ip_sym _ D1 v), S2, S3, S1, (ip_sym _ D1 A1). ring. }
  rewrite St. fold dr.
  assert (Ne : e * e * noise <= e * e * s2) by (apply Rmult_le_compat_l; [nra|assumption]).
  unfold bias. replace (e ^ 2) with (e * e) by ring. lra.
Qed.
