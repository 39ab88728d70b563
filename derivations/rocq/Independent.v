(* Noises of different clients that are uncorrelated: the variance of their mean under p is sum_i p_i^2 sigma_i^2. *)
From Coq Require Import Reals Lra Lia.
Require Import Space Model.
Open Scope R_scope.

Definition uncorrelated {P : Problem} (M : Step P) : Prop := forall c k i j,
  seen M c k -> (i < N P)%nat -> (j < N P)%nat -> i <> j ->
  given_past M c k (fun s => ip (xi M c k s i) (xi M c k s j)) = 0.
Definition variance_of_mean {P : Problem} (M : Step P) (sigma_p_sq : R) : Prop :=
  uncorrelated M /\ exists sigma_sq : nat -> R,
  (forall c k i, seen M c k -> (i < N P)%nat -> given_past M c k (fun s => norm_sq (xi M c k s i)) <= sigma_sq i) /\
  mean (N P) (p P) (fun i => p P i * sigma_sq i) <= sigma_p_sq.

Lemma sum_of_one n i f : (i < n)%nat -> (forall j, (j < n)%nat -> j <> i -> f j = 0) -> sum n f = f i.
Proof.
  induction n as [|n IH]; intros Hi Z; [lia|]. simpl. destruct (Nat.eq_dec i n) as [e|e].
  - subst. rewrite (sum_ext n f (fun _ => 0)), sum_zero by (intros; apply Z; lia). lra.
  - rewrite IH, (Z n) by (try lia; intros; apply Z; lia). lra.
Qed.

Lemma centre_same {V : Space} n a b (f g : nat -> V) : (forall i, (i < n)%nat -> a i = b i /\ f i = g i) ->
  centre n a f = centre n b g.
Proof.
  unfold centre. induction n as [|n IH]; intros E; [reflexivity|]. simpl. destruct (E n) as [A B]; [lia|].
  rewrite IH, A, B; auto.
Qed.

Lemma mean_noise {P : Problem} (M : Step P) sigma_p_sq c k : setting M -> seen M c k -> variance_of_mean M sigma_p_sq ->
  given_past M c k (fun s => norm_sq (centre (N P) (p P) (xi M c k s))) <= sigma_p_sq.
Proof.
  intros ok Hh (Hu & v & Hv & Hs). destruct ok as ([Hp _] & _).
  eapply Rle_trans; [|exact Hs]. unfold given_past.
  rewrite (mean_ext (S M c k) (odds M c k) _ (fun s => mean (N P) (p P) (fun i => mean (N P) (p P) (fun j =>
    ip (xi M c k s i) (xi M c k s j))))).
  2:{ intros s _. unfold norm_sq. rewrite ip_centre. apply mean_ext. intros i _. rewrite ip_sym, ip_centre.
      apply mean_ext. intros j _. apply ip_sym. }
  rewrite (mean_swap _ _ _ _ (fun s i => mean (N P) (p P) (fun j => ip (xi M c k s i) (xi M c k s j)))).
  apply sum_le. intros i Hi. apply Rmult_le_compat_l; [apply Hp; assumption|].
  rewrite (mean_swap _ _ _ _ (fun s j => ip (xi M c k s i) (xi M c k s j))). unfold mean at 1. rewrite (sum_of_one (N P) i) by
    (try assumption; intros j Hj n; fold (given_past M c k (fun s => ip (xi M c k s i) (xi M c k s j)));
     rewrite (Hu c k i j Hh Hi Hj (not_eq_sym n)); ring).
  apply Rmult_le_compat_l; [apply Hp; assumption|]. apply (Hv c k i Hh Hi).
Qed.

(* Clients of equal weight, and of equal variances. *)
Lemma some_clients (P : Problem) : weights (N P) (p P) -> 0 < INR (N P).
Proof. intros [_ H1]. apply lt_0_INR. destruct (N P); [simpl in H1; lra|lia]. Qed.
Lemma equal_shares (P : Problem) p_min : weights (N P) (p P) -> (forall i, (i < N P)%nat -> p_min <= p P i) ->
  INR (N P) * p_min = 1 -> mean (N P) (p P) (p P) = / INR (N P).
Proof.
  intros [Hp H1] Hl He. assert (HN : INR (N P) <> 0) by (intro z; rewrite z in He; lra).
  assert (least : p_min = / INR (N P)) by (apply (Rmult_eq_reg_l (INR (N P))); [rewrite He; field|]; assumption).
  rewrite <- least, <- (Rmult_1_r p_min), <- H1, <- sum_times. apply sum_ext. intros i Hi.
  assert (Z : sum (N P) (fun j => p P j - p_min) = 0).
  { rewrite (sum_ext _ _ (fun j => p P j + (- p_min) * 1)) by (intros; ring).
    rewrite sum_plus, sum_times, sum_const, H1. lra. }
  assert (G : forall n, (n <= N P)%nat -> 0 <= sum n (fun j => p P j - p_min)).
  { intros n Hn. rewrite <- (sum_zero n). apply sum_le. intros j Hj. pose proof (Hl j ltac:(lia)). lra. }
  assert (E : forall n, (n <= N P)%nat -> (i < n)%nat -> p P i - p_min <= sum n (fun j => p P j - p_min)).
  { induction n as [|n IH]; intros Hn Hi'; [lia|]. simpl. pose proof (Hl n ltac:(lia)).
    destruct (Nat.eq_dec i n) as [e|e]; [subst; pose proof (G n ltac:(lia)); lra|].
    pose proof (IH ltac:(lia) ltac:(lia)). lra. }
  pose proof (E (N P) (le_n _) Hi) as B. rewrite Z in B. pose proof (Hl i Hi). replace (p P i) with p_min by lra. ring.
Qed.
Lemma equal_variances {P : Problem} (M : Step P) sigma_sq : weights (N P) (p P) -> uncorrelated M -> bounded_variance M sigma_sq ->
  variance_of_mean M (mean (N P) (p P) (p P) * sigma_sq).
Proof.
  intros _ Hu Hv. split; [assumption|]. exists (fun _ => sigma_sq). split; [intros; apply Hv; assumption|].
  right. rewrite Rmult_comm, <- mean_times. apply mean_ext. intros. ring.
Qed.
Lemma equal_clients {P : Problem} (M : Step P) sigma_sq p_min v : weights (N P) (p P) -> (forall i, (i < N P)%nat -> p_min <= p P i) ->
  INR (N P) * p_min = 1 -> uncorrelated M -> bounded_variance M sigma_sq -> v = / INR (N P) * sigma_sq -> variance_of_mean M v.
Proof.
  intros Hp Hl He Hu Hv E. rewrite E, <- (equal_shares P p_min Hp Hl He). apply equal_variances; assumption.
Qed.
