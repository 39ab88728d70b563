(* The skews against the ratios alpha_i/p_i. *)
From Coq Require Import Reals Lra Lia Arith.
Require Import Space Model Facts.
Open Scope R_scope.

Section Ratios.
Context {P : Problem} (M : Step P).
Hypothesis ok : setting M.
Variables (pi_min pi_max p_min : R).

Lemma skew_of_ratio : ratio_at_least M pi_min -> skew_at_least M pi_min.
Proof.
  intros H c k [Hc Hk]. unfold mean. rewrite <- sum_times. apply sum_le. intros i Hi.
  rewrite <- Rmult_assoc. apply Rmult_le_compat_r; [apply (excess_nonneg M ok); assumption|]. apply (H c i Hc Hi).
Qed.
Lemma star_of_ratio : ratio_at_most M pi_max -> star_skew_at_most M pi_max.
Proof.
  intros H c Hc. unfold Gamma, mean. rewrite <- sum_times. apply sum_le. intros i Hi.
  rewrite <- Rmult_assoc. apply Rmult_le_compat_r; [apply (excess_nonneg M ok); assumption|]. apply (H c i Hc Hi).
Qed.
Lemma some_start : (0 < H M)%nat.
Proof.
  destruct (ok) as (_ & _ & [_ Hch] & _). destruct (H M); [simpl in Hch; lra|lia].
Qed.
Lemma sum_of_ratio c q : (c < H M)%nat -> sum (N P) (fun i => q * p P i) = q.
Proof. intros _. destruct (ok) as ([_ Hp] & _). rewrite sum_times, Hp. ring. Qed.
Lemma ratio_below_one : ratio_at_least M pi_min -> pi_min <= 1.
Proof.
  intros Hr. pose proof some_start as C. destruct (ok) as (_ & _ & _ & Hw & _). destruct (Hw 0%nat C) as [[_ Ha] _].
  rewrite <- Ha, <- (sum_of_ratio 0 pi_min C). apply sum_le. intros i Hi. apply (Hr 0%nat i C Hi).
Qed.
Lemma ratio_above_one : ratio_at_most M pi_max -> 1 <= pi_max.
Proof.
  intros Hr. pose proof some_start as C. destruct (ok) as (_ & _ & _ & Hw & _). destruct (Hw 0%nat C) as [[_ Ha] _].
  rewrite <- Ha, <- (sum_of_ratio 0 pi_max C). apply sum_le. intros i Hi. apply (Hr 0%nat i C Hi).
Qed.
(* A client's weight is what the others leave. *)
Lemma others n f i : (forall j, (j < n)%nat -> 0 <= f j) -> (i < n)%nat -> f i <= sum n f.
Proof.
  revert f. induction n as [|n IH]; intros f Hf Hi; [lia|]. simpl. destruct (Nat.eq_dec i n) as [e|e].
  - subst. assert (0 <= sum n f) by (rewrite <- (sum_zero n); apply sum_le; auto). lra.
  - assert (f i <= sum n f) by (apply IH; [auto|lia]). assert (0 <= f n) by auto. lra.
Qed.
Lemma ratio_from_below : 0 < p_min -> (forall i, (i < N P)%nat -> p_min <= p P i) -> ratio_at_least M pi_min ->
  ratio_at_most M ((1 - pi_min) / p_min + pi_min).
Proof.
  intros Hp0 Hp Hr c i Hc Hi. pose proof (ratio_below_one Hr) as One. destruct (ok) as (_ & _ & _ & Hw & _).
  destruct (Hw c Hc) as [[_ Ha] _].
  pose proof (others (N P) (fun j => alpha M c j + - pi_min * p P j) i) as O.
  rewrite sum_plus, Ha, (sum_of_ratio c (- pi_min) Hc) in O.
  assert (A : alpha M c i <= (1 - pi_min) + pi_min * p P i).
  { enough (alpha M c i + - pi_min * p P i <= 1 + - pi_min) by lra. apply O; [|assumption].
    intros j Hj. pose proof (Hr c j Hc Hj). lra. }
  pose proof (Hp i Hi) as B.
  assert ((1 - pi_min) <= (1 - pi_min) / p_min * p P i).
  { replace (1 - pi_min) with ((1 - pi_min) / p_min * p_min) at 1 by (field; lra). apply Rmult_le_compat_l; [|assumption].
    apply Rmult_le_pos; [lra|apply Rlt_le, Rinv_0_lt_compat; assumption]. }
  lra.
Qed.
Lemma clients_at_most : (forall i, (i < N P)%nat -> p_min <= p P i) -> INR (N P) * p_min <= 1.
Proof. intros Hp. destruct (ok) as ([_ Hs] & _). rewrite <- Hs, <- (sum_const (N P) p_min). apply sum_le. assumption. Qed.
End Ratios.
