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

(* Clients of equal weight, and of equal variances. *)
Lemma some_clients (P : Problem) : weights (N P) (p P) -> 0 < INR (N P).
Proof. intros [_ H1]. apply lt_0_INR. destruct (N P); [simpl in H1; lra|lia]. Qed.
Lemma equal_share (P : Problem) p_min : weights (N P) (p P) -> (forall i, (i < N P)%nat -> p_min <= p P i) ->
  INR (N P) * p_min = 1 -> forall i, (i < N P)%nat -> p P i = / INR (N P).
Proof.
  intros [Hp H1] Hl He i Hi. assert (HN : INR (N P) <> 0) by (intro z; rewrite z in He; lra).
  assert (least : p_min = / INR (N P)) by (apply (Rmult_eq_reg_l (INR (N P))); [rewrite He; field|]; assumption).
  assert (Z : sum (N P) (fun j => p P j - p_min) = 0).
  { rewrite (sum_ext _ _ (fun j => p P j + (- p_min) * 1)) by (intros; ring).
    rewrite sum_plus, sum_times, sum_const, H1. lra. }
  assert (G : forall n, (n <= N P)%nat -> 0 <= sum n (fun j => p P j - p_min)).
  { intros n Hn. rewrite <- (sum_zero n). apply sum_le. intros j Hj. pose proof (Hl j ltac:(lia)). lra. }
  assert (E : forall n, (n <= N P)%nat -> (i < n)%nat -> p P i - p_min <= sum n (fun j => p P j - p_min)).
  { induction n as [|n IH]; intros Hn Hi'; [lia|]. simpl. pose proof (Hl n ltac:(lia)).
    destruct (Nat.eq_dec i n) as [e|e]; [subst; pose proof (G n ltac:(lia)); lra|].
    pose proof (IH ltac:(lia) ltac:(lia)). lra. }
  pose proof (E (N P) (le_n _) Hi) as B. rewrite Z in B. pose proof (Hl i Hi). lra.
Qed.
Lemma equal_shares (P : Problem) p_min : weights (N P) (p P) -> (forall i, (i < N P)%nat -> p_min <= p P i) ->
  INR (N P) * p_min = 1 -> mean (N P) (p P) (p P) = / INR (N P).
Proof.
  intros Hp Hl He. rewrite (mean_ext _ _ _ (fun _ => / INR (N P))) by (exact (equal_share P p_min Hp Hl He)).
  apply mean_const. assumption.
Qed.
