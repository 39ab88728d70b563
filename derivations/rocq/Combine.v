(* Sums of facts about vectors, losses and means: a normal form of expressions, in which equal ones are equal numbers. *)
From Coq Require Import Reals Lra Lia.
Require Import Space Model Rounds Facts Together Independent Inside Points.
Open Scope R_scope.

Lemma equal_less l r m a b : a = b -> l <= r - m * (b - a) -> l <= r.
Proof. intros E. rewrite E. lra. Qed.
Lemma plus l m v : 0 <= m -> 0 <= v -> 0 <= l - m * v -> 0 <= l.
Proof. intros M A. pose proof (Rmult_le_pos m v M A). lra. Qed.
Lemma plus_equal l m v : 0 = v -> 0 <= l - m * v -> 0 <= l.
Proof. intros E. rewrite <- E. lra. Qed.
Lemma unshift l r : 0 <= r - l -> l <= r.
Proof. lra. Qed.
Lemma equal_shift l r : l = r -> 0 = r - l.
Proof. lra. Qed.
Lemma halved a b : a <= b -> a / 2 <= b / 2.
Proof. lra. Qed.

(* Means and centres whose bodies are in that form. *)
Lemma sealed_mean : {f | f = mean}. Proof. exists mean. reflexivity. Qed.
Lemma sealed_centre : {f : forall V : Space, nat -> (nat -> R) -> (nat -> V) -> V | f = @centre}.
Proof. exists @centre. reflexivity. Qed.
Definition mean' := proj1_sig sealed_mean.
Definition centre' {V : Space} := proj1_sig sealed_centre V.
Lemma mean_is : mean' = mean. Proof. exact (proj2_sig sealed_mean). Qed.
Lemma centre_is (V : Space) : @centre' V = @centre V.
Proof. unfold centre'. rewrite (proj2_sig sealed_centre). reflexivity. Qed.
Ltac unsealed := rewrite ?mean_is, ?centre_is.

Section Means.
Context {V : Space} (n : nat) (a : nat -> R).
Lemma mean_sum f g : mean' n a (fun i => f i + g i) = mean' n a f + mean' n a g. Proof. unsealed. apply mean_plus. Qed.
Lemma mean_scaled c f : mean' n a (fun i => c * f i) = c * mean' n a f. Proof. unsealed. apply mean_times. Qed.
Lemma mean_scaled_r c f : mean' n a (fun i => f i * c) = mean' n a f * c.
Proof. rewrite Rmult_comm, <- mean_scaled. unsealed. apply mean_ext. intros. ring. Qed.
Lemma mean_minus f : mean' n a (fun i => - f i) = - mean' n a f.
Proof. transitivity (mean' n a (fun i => (-1) * f i)); [unsealed; apply mean_ext; intros; ring | rewrite mean_scaled; ring]. Qed.
Lemma mean_less f g : mean' n a (fun i => f i - g i) = mean' n a f - mean' n a g.
Proof. unfold Rminus. rewrite <- mean_minus. apply mean_sum. Qed.
Lemma mean_divided c f : mean' n a (fun i => f i / c) = mean' n a f / c. Proof. apply (mean_scaled_r (/ c)). Qed.
Lemma mean_steady c : weights n a -> mean' n a (fun _ => c) = c. Proof. unsealed. apply mean_const. Qed.
Lemma mean_inner (f : nat -> V) y : mean' n a (fun i => ip (f i) y) = ip (centre' n a f) y.
Proof. unsealed. rewrite ip_centre. reflexivity. Qed.
Lemma mean_sym (f g : nat -> V) : mean' n a (fun i => ip (f i) (g i)) = mean' n a (fun i => ip (g i) (f i)).
Proof. unsealed. apply mean_ext. intros. apply ip_sym. Qed.
Lemma mean_inner_r (f : nat -> V) y : mean' n a (fun i => ip y (f i)) = ip (centre' n a f) y.
Proof. rewrite (mean_sym (fun _ => y)). apply mean_inner. Qed.
Lemma centre_sum (f g : nat -> V) : centre' n a (fun i => add (f i) (g i)) = add (centre' n a f) (centre' n a g).
Proof. apply same_point. intros y. rewrite ip_add, <- !mean_inner, <- mean_sum. unsealed. apply mean_ext. intros. apply ip_add. Qed.
Lemma centre_scaled c (f : nat -> V) : centre' n a (fun i => scale c (f i)) = scale c (centre' n a f).
Proof. apply same_point. intros y. rewrite ip_scale, <- !mean_inner, <- mean_scaled. unsealed. apply mean_ext. intros. apply ip_scale. Qed.
Lemma centre_steady (v : V) : weights n a -> centre' n a (fun _ => v) = v.
Proof. intros Ha. apply same_point. intros y. rewrite <- mean_inner. unsealed. apply mean_const. assumption. Qed.
Lemma same_mean b f : (forall i, (i < n)%nat -> a i = b i) -> mean n a f = mean n b f.
Proof. intros E. apply sum_ext. intros i Hi. rewrite (E i Hi). reflexivity. Qed.
Lemma same_centre b (f : nat -> V) : (forall i, (i < n)%nat -> a i = b i) -> centre n a f = centre n b f.
Proof. intros E. apply same_point. intros y. rewrite !ip_centre. apply same_mean. assumption. Qed.
Lemma mean_turned m b f : mean' n a (fun i => mean' m b (fun s => f i s)) = mean' m b (fun s => mean' n a (fun i => f i s)).
Proof. unsealed. apply mean_swap. Qed.
Lemma no_vector (v : V) : (forall y, ip v y = 0) -> v = zero.
Proof. intros E. apply same_point. intros y. rewrite E, ip_zero. reflexivity. Qed.

(* The same as steps from the parts of an expression to the whole. *)
Lemma by_mean f g r : (forall i, (i < n)%nat -> a i <> 0 -> f i = g i) -> mean' n a g = r -> mean n a f = r.
Proof.
  intros E <-. unsealed. apply sum_ext. intros i Hi. destruct (Req_dec (a i) 0) as [z|z]; [rewrite z; ring|].
  rewrite (E i Hi z). reflexivity.
Qed.
Lemma by_sum f g r q : mean' n a f = r -> mean' n a g = q -> mean' n a (fun i => f i + g i) = r + q.
Proof. intros <- <-. apply mean_sum. Qed.
Lemma by_less f g r q : mean' n a f = r -> mean' n a g = q -> mean' n a (fun i => f i - g i) = r - q.
Proof. intros <- <-. apply mean_less. Qed.
Lemma by_scaled c f r : mean' n a f = r -> mean' n a (fun i => c * f i) = c * r.
Proof. intros <-. apply mean_scaled. Qed.
Lemma by_scaled_r c f r : mean' n a f = r -> mean' n a (fun i => f i * c) = r * c.
Proof. intros <-. apply mean_scaled_r. Qed.
Lemma by_divided c f r : mean' n a f = r -> mean' n a (fun i => f i / c) = r / c.
Proof. intros <-. apply mean_divided. Qed.
Lemma by_minus f r : mean' n a f = r -> mean' n a (fun i => - f i) = - r.
Proof. intros <-. apply mean_minus. Qed.
Lemma by_inner (f : nat -> V) y u r : centre' n a f = u -> ip u y = r -> mean' n a (fun i => ip (f i) y) = r.
Proof. intros <- <-. apply mean_inner. Qed.
Lemma by_inner_r (f : nat -> V) y u r : centre' n a f = u -> ip u y = r -> mean' n a (fun i => ip y (f i)) = r.
Proof. intros <- <-. apply mean_inner_r. Qed.
Lemma by_centre (f g : nat -> V) r : (forall i, (i < n)%nat -> a i <> 0 -> f i = g i) -> centre' n a g = r -> centre n a f = r.
Proof. intros E <-. unsealed. apply same_point. intros y. rewrite !ip_centre. apply sum_ext. intros i Hi.
  destruct (Req_dec (a i) 0) as [z|z]; [rewrite z; ring|]. rewrite (E i Hi z). reflexivity.
Qed.
Lemma by_centres (f g : nat -> V) r q : centre' n a f = r -> centre' n a g = q -> centre' n a (fun i => add (f i) (g i)) = add r q.
Proof. intros <- <-. apply centre_sum. Qed.
Lemma by_centre_scaled c (f : nat -> V) r : centre' n a f = r -> centre' n a (fun i => scale c (f i)) = scale c r.
Proof. intros <-. apply centre_scaled. Qed.
Lemma by_vectors (u v u' v' : V) r : u = u' -> v = v' -> ip u' v' = r -> ip u v = r.
Proof. intros -> -> <-. reflexivity. Qed.
Lemma by_add (u v y : V) r q : ip u y = r -> ip v y = q -> ip (add u v) y = r + q.
Proof. intros <- <-. apply ip_add. Qed.
Lemma by_add_r (u v y : V) r q : ip y u = r -> ip y v = q -> ip y (add u v) = r + q.
Proof. intros <- <-. apply ip_add_r. Qed.
Lemma by_scale c (u y : V) r : ip u y = r -> ip (scale c u) y = c * r.
Proof. intros <-. apply ip_scale. Qed.
Lemma by_scale_r c (u y : V) r : ip y u = r -> ip y (scale c u) = c * r.
Proof. intros <-. apply ip_scale_r. Qed.
End Means.

Lemma ratio_mean (P : Problem) a f : (forall i, (i < N P)%nat -> 0 < p P i) ->
  mean' (N P) (p P) (fun i => a i * / p P i * f i) = mean' (N P) a f.
Proof. unsealed. apply by_ratio. Qed.
Lemma ratio_centre (P : Problem) a (f : nat -> V P) : (forall i, (i < N P)%nat -> 0 < p P i) ->
  centre' (N P) (p P) (fun i => scale (a i * / p P i) (f i)) = centre' (N P) a f.
Proof.
  intros Hpos. apply same_point. intros y. rewrite <- !mean_inner, <- (ratio_mean P a _ Hpos).
  unsealed. apply mean_ext. intros. apply ip_scale.
Qed.

(* Vectors that vanish: the mean gradient at a minimiser of the mean, and a client's at its own. *)
Lemma still_zero (P : Problem) a o L : weights (N P) a ->
  (forall v, mean (N P) a (fun i => F P i o) <= mean (N P) a (fun i => F P i v)) -> smooth P L -> 0 <= L ->
  centre' (N P) a (fun i => grad P i o) = zero.
Proof. intros. unsealed. apply no_vector. apply (still P a o L); assumption. Qed.
Lemma rest_zero (P : Problem) L : (forall j v, (j < N P)%nat -> F P j (w_i_star P j) <= F P j v) -> smooth P L -> 0 <= L ->
  forall i, (i < N P)%nat -> grad P i (w_i_star P i) = zero.
Proof. intros Hm Hs HL i Hi. apply no_vector. apply (rest P L i); assumption. Qed.

Lemma term_of_sum n i f : (forall j, (j < n)%nat -> 0 <= f j) -> (i < n)%nat -> f i <= sum n f.
Proof.
  induction n as [|n IH]; intros Hf Hi; [lia|]. simpl. destruct (Nat.eq_dec i n) as [e|e].
  - subst. assert (0 <= sum n f) by (rewrite <- (sum_zero n); apply sum_le; auto). lra.
  - assert (f i <= sum n f) by (apply IH; [auto|lia]). assert (0 <= f n) by auto. lra.
Qed.

(* Growth from the minimiser of the mean where nothing is said of smoothness: between the two a gradient shows it. *)
Lemma grown (P : Problem) mu v : weights (N P) (p P) -> strongly_convex P mu ->
  (forall u, mean (N P) (p P) (fun i => F P i (w_star P)) <= mean (N P) (p P) (fun i => F P i u)) ->
  mean (N P) (p P) (fun i => F P i (w_star P)) + mu / 2 * norm_sq (sub v (w_star P)) <= mean (N P) (p P) (fun i => F P i v).
Proof.
  intros Hp Hc Hopt. set (D := norm_sq (sub v (w_star P))). set (f := fun u => mean (N P) (p P) (fun i => F P i u)).
  assert (Q : forall t, 0 < t -> t < 1 -> mu / 2 * (1 - t) * D <= f v - f (w_star P)).
  { intros t T0 T1. set (z := add (w_star P) (scale t (sub v (w_star P)))).
    assert (A : f z + mu / 2 * (t * (1 - t) * D) <= t * f v + (1 - t) * f (w_star P)).
    { unfold f. rewrite <- !mean_times, <- mean_plus, <- (mean_const (N P) (p P) (mu / 2 * (t * (1 - t) * D)) Hp), <- mean_plus.
      apply mean_le; [assumption|]. intros i Hi. pose proof (Hc i z v Hi) as A1. pose proof (Hc i z (w_star P) Hi) as A2.
      apply (Rmult_le_compat_l t) in A1; [|lra]. apply (Rmult_le_compat_l (1 - t)) in A2; [|lra].
      assert (E1 : norm_sq (sub v z) = (1 - t) * (1 - t) * D) by (unfold z, D; open_goal; rewrite (ip_sym _ (w_star P) v); ring).
      assert (E2 : norm_sq (sub (w_star P) z) = t * t * D) by (unfold z, D; open_goal; rewrite (ip_sym _ (w_star P) v); ring).
      assert (E3 : t * ip (grad P i z) (sub v z) + (1 - t) * ip (grad P i z) (sub (w_star P) z) = 0) by (unfold z; open_goal; ring).
      rewrite E1 in A1. rewrite E2 in A2. lra. }
    pose proof (Hopt z) as B. fold (f (w_star P)) (f z) in B. apply (Rmult_le_reg_l t); [assumption|]. lra. }
  assert (G : 0 <= f v - f (w_star P)) by (pose proof (Hopt v) as B; fold (f (w_star P)) (f v) in B; lra).
  fold (f (w_star P)) (f v). apply Rnot_lt_le. intros L. set (e := mu / 2 * D - (f v - f (w_star P))). assert (0 < e) by (unfold e; lra).
  assert (W : 0 < mu / 2 * D) by lra. pose proof (Q (e / (2 * (mu / 2 * D)))) as B.
  assert (0 < e / (2 * (mu / 2 * D))) by (apply Rdiv_lt_0_compat; lra).
  assert (e / (2 * (mu / 2 * D)) < 1) by (apply (Rmult_lt_reg_r (2 * (mu / 2 * D))); [lra|]; unfold Rdiv at 1; rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra; unfold e; lra).
  specialize (B ltac:(assumption) ltac:(assumption)).
  replace (mu / 2 * (1 - e / (2 * (mu / 2 * D))) * D) with (mu / 2 * D - e / 2) in B by (field; nra). unfold e in *. lra.
Qed.

(* A step after one history: its model and the next one in the local models, gradients and noise, whose mean is 0. *)
Section History.
Context {P : Problem} (M : Step P) (c k : nat).
Lemma model_here a : (forall i, (i < N P)%nat -> alpha M c i = a i) -> centre' (N P) a (fun i => x M c k i) = w M c k.
Proof. intros E. unsealed. symmetry. apply same_centre. assumption. Qed.
Lemma next_here s : w_next M c k s = centre (N P) (alpha M c) (fun i =>
  add (x M c k i) (scale (-1) (scale (eta M) (add (grad P i (x M c k i)) (xi M c k s i))))).
Proof. reflexivity. Qed.
Hypothesis quiet : forall i y, (i < N P)%nat -> given_past M c k (fun s => ip (xi M c k s i) y) = 0.
Lemma quiet_client i : (i < N P)%nat -> centre' (S M c k) (odds M c k) (fun s => xi M c k s i) = zero.
Proof. intros Hi. apply no_vector. intros y. rewrite <- mean_inner. unsealed. exact (quiet i y Hi). Qed.
Lemma quiet_products a (y : nat -> V P) :
  mean' (S M c k) (odds M c k) (fun s => mean' (N P) a (fun i => ip (xi M c k s i) (y i))) = 0.
Proof.
  rewrite <- mean_turned. unsealed. unfold mean at 1. rewrite <- (Rmult_0_l (sum (N P) a)), <- sum_times. apply sum_ext. intros i Hi.
  pose proof (quiet i (y i) Hi) as Q. unfold given_past in Q. rewrite Q. ring.
Qed.
Lemma quiet_mean a : centre' (S M c k) (odds M c k) (fun s => centre' (N P) a (fun i => xi M c k s i)) = zero.
Proof.
  apply no_vector. intros y. rewrite <- mean_inner, <- (quiet_products a (fun _ => y)). rewrite mean_is. apply mean_ext. intros.
  rewrite <- mean_is, mean_inner. reflexivity.
Qed.
(* Noise without variance is none, where it has a chance. *)
Lemma silent sigma_sq : weights (S M c k) (odds M c k) ->
  (forall i, (i < N P)%nat -> given_past M c k (fun s => norm_sq (xi M c k s i)) <= sigma_sq) -> sigma_sq <= 0 ->
  forall i s, (i < N P)%nat -> (s < S M c k)%nat -> odds M c k s <> 0 -> xi M c k s i = zero.
Proof.
  intros [Hn _] Hv Hz i s Hi Hs Hodds. apply ip_definite. apply Rle_antisym; [|apply ip_pos].
  pose proof (Hn s Hs). assert (0 < odds M c k s) by lra. apply (Rmult_le_reg_l (odds M c k s)); [assumption|].
  rewrite Rmult_0_r. eapply Rle_trans; [|exact (Rle_trans _ _ _ (Hv i Hi) Hz)]. unfold given_past, mean.
  apply (term_of_sum (S M c k) s (fun s => odds M c k s * norm_sq (xi M c k s i))); [|assumption].
  intros j Hj. apply Rmult_le_pos; [apply Hn; assumption | apply ip_pos].
Qed.
(* Noises of different clients that are uncorrelated: the square of their mean. *)
Lemma uncorrelated_square : seen M c k -> uncorrelated M ->
  mean (N P) (p P) (fun i => p P i * given_past M c k (fun s => norm_sq (xi M c k s i)))
  = given_past M c k (fun s => norm_sq (centre (N P) (p P) (fun i => xi M c k s i))).
Proof.
  intros Hh Hu. symmetry. unfold given_past.
  rewrite (mean_ext (S M c k) (odds M c k) _ (fun s => mean (N P) (p P) (fun i => mean (N P) (p P) (fun j =>
    ip (xi M c k s i) (xi M c k s j))))).
  2:{ intros s _. unfold norm_sq. rewrite ip_centre. apply mean_ext. intros i _. rewrite ip_sym, ip_centre.
      apply mean_ext. intros j _. apply ip_sym. }
  rewrite (mean_swap _ _ _ _ (fun s i => mean (N P) (p P) (fun j => ip (xi M c k s i) (xi M c k s j)))).
  apply sum_ext. intros i Hi. f_equal. rewrite (mean_swap _ _ _ _ (fun s j => ip (xi M c k s i) (xi M c k s j))).
  unfold mean at 1. rewrite (sum_of_one (N P) i); [reflexivity|assumption|]. intros j Hj n.
  pose proof (Hu c k i j Hh Hi Hj (not_eq_sym n)) as Z. unfold given_past in Z. rewrite Z. ring.
Qed.
End History.

(* The normal form, part by part: of centres and means of what is opened already, of vectors, and of numbers. *)
Ltac centred := lazymatch goal with
  | |- centre' _ _ (fun _ => ?v) = _ => first [apply centre_steady; assumption | reflexivity]
  | |- centre' _ _ (fun i => add (@?f i) (@?g i)) = _ => eapply by_centres; centred
  | |- centre' _ _ (fun i => scale (@?c i) (@?f i)) = _ => lazymatch c with
    | (fun _ => ?k) => eapply by_centre_scaled; centred
    | (fun i => ?a i * / p ?P i) => etransitivity; [apply (ratio_centre P a f); assumption | centred]
    | _ => reflexivity end
  | |- centre' ?n ?a ?f = _ => match goal with
    | Z : centre' n a ?h = _ |- _ => unify f h; exact Z
    | Q : (forall i, (i < _)%nat -> centre' n a _ = zero), Hi : (?i < _)%nat |- _ => exact (Q i Hi)
    | Q : (forall b, centre' n a _ = zero) |- _ => exact (Q _)
    | _ => reflexivity end
  end.
Ltac products := lazymatch goal with
  | |- ip (add _ _) _ = _ => eapply by_add; products
  | |- ip (scale _ _) _ = _ => eapply by_scale; products
  | |- ip zero _ = _ => apply ip_zero
  | |- ip _ (add _ _) = _ => eapply by_add_r; products
  | |- ip _ (scale _ _) = _ => eapply by_scale_r; products
  | |- ip _ zero = _ => apply ip_zero_r
  | _ => reflexivity end.
Ltac averaged := cbv beta; lazymatch goal with
  | |- mean' _ _ (fun _ => ?c) = _ => first [apply mean_steady; assumption | reflexivity]
  | |- mean' _ _ (fun i => @?f i + @?g i) = _ => eapply by_sum; averaged
  | |- mean' _ _ (fun i => @?f i - @?g i) = _ => eapply by_less; averaged
  | |- mean' _ _ (fun i => - @?f i) = _ => eapply by_minus; averaged
  | |- mean' _ _ (fun i => @?c i * @?f i) = _ => lazymatch c with
    | (fun _ => ?k) => eapply by_scaled; averaged
    | (fun i => ?a i * / p ?P i) => etransitivity; [apply (ratio_mean P a f); assumption | averaged]
    | _ => lazymatch f with (fun _ => ?k) => eapply by_scaled_r; averaged | _ => reflexivity end end
  | |- mean' _ _ (fun i => @?f i / ?c) = _ => eapply by_divided; averaged
  | |- mean' _ _ (fun i => ip (@?f i) (@?h i)) = _ => lazymatch h with
    | (fun _ => ?y) => eapply by_inner; [centred | products]
    | _ => lazymatch f with (fun _ => ?y) => eapply by_inner_r; [centred | products] | _ => reflexivity end end
  | |- mean' (N ?P) ?a (fun i => mean' (S ?M ?c ?k) ?o (fun s => @?f i s)) = _ =>
    etransitivity; [apply (mean_turned (N P) a (S M c k) o f) | averaged]
  | |- mean' ?n ?a _ = _ => match goal with
    | Q : (forall b y, mean' n a (fun s => mean' _ b (fun i => ip (_ s i) (y i))) = 0) |- mean' _ _ (fun s => mean' _ ?b (fun i => ip (_ s i) (@?y i))) = _ =>
      exact (Q b y)
    | _ => reflexivity end
  end.
Ltac opened := lazymatch goal with
  | |- add _ _ = _ => eapply (f_equal2 add); opened
  | |- scale ?c _ = _ => eapply (f_equal (scale c)); opened
  | |- sub ?u ?v = _ => change (sub u v) with (add u (scale (-1) v)); opened
  | |- g ?M ?c ?k ?s ?i = _ => unfold g; opened
  | |- centre ?n ?a ?f = _ =>
    try match goal with E : (forall f, centre n a f = _) |- _ => rewrite E end;
    eapply by_centre; [let i := fresh "i" in let Hi := fresh "Hi" in let Ai := fresh "Ai" in intros i Hi Ai; cbv beta; etransitivity; [opened | reflexivity] | centred]
  | |- w_next ?M ?c ?k ?s = _ => rewrite (next_here M c k s); opened
  | |- xi ?M ?c ?k ?s ?i = _ => match goal with
    | E : (forall i s, _ -> _ -> _ -> xi M c k s i = zero), Hi : (i < _)%nat, Hs : (s < _)%nat, As : odds M c k s <> 0 |- _ =>
      exact (E i s Hi Hs As)
    | _ => reflexivity end
  | |- _ => match goal with
    | E : (forall i, (i < _)%nat -> x ?M ?c ?k i = _), Hi : (?i < _)%nat |- x ?M ?c ?k ?i = _ => exact (E i Hi)
    | E : (forall i, (i < _)%nat -> grad ?P i (@?v i) = zero), Hi : (?i < _)%nat |- grad ?P ?i _ = _ => exact (E i Hi)
    | E : (forall i, (i < _)%nat -> x ?M ?c ?k i = _), Hi : (?i < _)%nat |- grad ?P ?i (x ?M ?c ?k ?i) = _ => rewrite (E i Hi); reflexivity
    | _ => reflexivity end
  end.
Ltac normal := lazymatch goal with
  | |- _ + _ = _ => eapply (f_equal2 Rplus); normal
  | |- _ - _ = _ => eapply (f_equal2 Rminus); normal
  | |- _ * _ = _ => eapply (f_equal2 Rmult); normal
  | |- _ / _ = _ => eapply (f_equal2 Rdiv); normal
  | |- - _ = _ => eapply (f_equal Ropp); normal
  | |- norm_sq ?v = _ => change (norm_sq v) with (ip v v); normal
  | |- excess ?P ?i ?v = _ => unfold excess; normal
  | |- Gamma ?P = _ => unfold Gamma; normal
  | |- given_past _ _ _ _ = _ => unfold given_past; normal
  | |- ip _ _ = _ => eapply by_vectors; [opened | opened | products]
  | |- mean ?n ?a ?f = _ =>
    try match goal with E : (forall f, mean n a f = _) |- _ => rewrite E end;
    eapply by_mean; [let i := fresh "i" in let Hi := fresh "Hi" in let Ai := fresh "Ai" in intros i Hi Ai; cbv beta; etransitivity; [normal | reflexivity] | averaged]
  | |- F ?P ?i (x ?M ?c ?k ?i) = _ => match goal with
    | E : (forall i, (i < _)%nat -> x M c k i = _), Hi : (i < _)%nat |- _ => rewrite (E i Hi); reflexivity
    | _ => reflexivity end
  | |- _ => reflexivity
  end.
(* A fact in normal form: 0 <= what it says; a rewriting that changes nothing is an error of Rocq. *)
Ltac weighed V := cbv beta in V; match type of V with
  | ?a <= ?b => let E := fresh "E" in eassert (E : b - a = _) by normal; apply shift in V; try rewrite E in V; clear E
  | ?a = ?b => let E := fresh "E" in eassert (E : b - a = _) by normal; apply equal_shift in V; try rewrite E in V; clear E
  end.
(* What is left is an identity of numbers: each product and mean is a variable, whatever the order of its factors. *)
Ltac turned E := let T := type of E in let T := eval cbv beta in T in match T with ?l = _ => try rewrite (E : T) end.
Ltac numbers := repeat match goal with |- context [fun i => ?f i] => change (fun i => f i) with f end;
  repeat match goal with
  | |- context [mean' ?n ?a (fun i => ip (@?f i) (@?g i))] =>
    first [constr_eq f g | turned (mean_sym n a g f)];
    let t := eval cbv beta in (mean' n a (fun i => ip (f i) (g i))) in generalize t; intro
  | |- context [mean' ?n ?a ?f] => generalize (mean' n a f); intro
  | |- context [ip ?u ?v] => first [constr_eq u v | try rewrite (ip_sym _ v u)]; generalize (ip u v); intro
  end.
Ltac sides := let E := fresh "E" in match goal with |- ?l <= ?r =>
  eassert (E : r - l = _) by normal; apply unshift; try rewrite E; clear E end.
Ltac added_up := apply Req_le; try match goal with h : eta _ = _ |- _ => rewrite !h end; numbers; first [ring | field; apart].
(* The hypotheses of a statement by their names, and what they say after one history. *)
Ltac facts_named P M :=
  try match goal with h : smooth P _ |- _ => rename h into Hs end;
  try match goal with h : strongly_convex P _ |- _ => rename h into Hc end;
  try match goal with h : smooth_below P _ |- _ => rename h into Hb end;
  try match goal with h : dominated P _ |- _ => unfold dominated, loss in h; rename h into Hd end;
  try match goal with s : smooth P ?L, c : strongly_convex P ?mu |- _ => assert (HL : mu <= L) by lra end;
  try match goal with h : weights (N P) (p P), l : forall i, (i < N P)%nat -> ?q <= p P i, e : INR (N P) * ?q = 1 |- _ =>
    pose proof (equal_share P q h l e) as He' end.
Ltac at_history M c k Hck :=
  match goal with h : forall c, (c < H M)%nat -> weights _ _ /\ _ |- _ => pose proof (proj1 (h c (proj1 Hck))) as Ha end;
  match goal with h : forall c k, seen M c k -> weights _ _ |- _ => specialize (h c k Hck) end;
  match goal with h : forall c k i y, seen M c k -> _ -> _ = 0 |- _ => let q := fresh "q" in
    pose proof (fun i y => h c k i y Hck) as q; pose proof (quiet_client M c k q); pose proof (quiet_products M c k q);
    pose proof (quiet_mean M c k q) end;
  try match goal with l : ratio_at_least (P := ?P) M 1, m : ratio_at_most M 1 |- _ =>
    let Ex := fresh "Ex" in
    assert (Ex : forall i, (i < N P)%nat -> alpha M c i = p P i) by (let i := fresh in let Hi := fresh in intros i Hi;
      pose proof (l c i (proj1 Hck) Hi); pose proof (m c i (proj1 Hck) Hi); lra);
    pose proof (fun f => same_mean (N P) (alpha M c) (p P) f Ex);
    pose proof (fun f : nat -> V P => same_centre (N P) (alpha M c) (p P) f Ex) end;
  try match goal with h : bounded_variance M _ |- _ => pose proof (fun i => h c k i Hck) as Hv end;
  try match goal with h : bounded_gradient M _ |- _ => pose proof (fun i => proj1 h c k i Hck) as HG end;
  try match goal with h : growing_variance M _ _ |- _ => pose proof (fun i => h c k i Hck) as Hg end;
  try match goal with h : variance_of_mean M _ |- _ => let all := fresh in
    destruct h as (Hun & v & all & Hvs); pose proof (fun i => all c k i Hck) as Hvi end;
  try match goal with h : uncorrelated M |- _ => pose proof (uncorrelated_square M c k Hck h) as Hu end;
  try match goal with h : skew_at_least M _ |- _ => pose proof (h c k Hck) as Hr end;
  try match goal with h : star_skew_at_most M _ |- _ => pose proof (h c (proj1 Hck)) as Ht end;
  try match goal with h : dissimilar M _ |- _ => pose proof (h c k Hck) as Hz end.
Ltac model_named M c k := let Ew := fresh "Ew" in
  first [match goal with Ex : forall i, _ -> alpha M c i = _ |- _ => pose proof (model_here M c k _ Ex) as Ew end
  | pose proof (model_here M c k (alpha M c) (fun _ _ => eq_refl)) as Ew]; pose proof Ew; change (fun i => x M c k i) with (x M c k) in Ew.
Ltac expectations := match goal with
  |- 0 <= ip _ _ => apply ip_pos | |- 0 <= mean _ _ _ => apply mean_nonneg; [assumption | intros; expectations] | _ => not_negative end.
Ltac client_sign := match goal with h : weights ?n ?a, Hi : (?i < ?n)%nat |- 0 <= ?a ?i => exact (proj1 h i Hi) | _ => expectations end.
