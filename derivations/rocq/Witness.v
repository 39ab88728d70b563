(* Two quadratic clients on the line and one step of theirs with full gradients: what refutes a false statement. *)
From Coq Require Import Reals Lra Lia Arith.
Require Import Space Model Attained.
Open Scope R_scope.

Definition line : Space.
Proof.
  refine {| point := R; zero := 0; add := Rplus; scale := Rmult; ip := Rmult |}; intros; try ring; try nra.
Defined.
Definition two {A} (a b : A) (i : nat) : A := match i with O => a | _ => b end.

Section Clients.
Variables (c m q a : nat -> R) (o start size before : R) (n : nat).
Definition clients : Problem := {|
  V := line; N := 2; p := q; F := fun i (v : line) => c i / 2 * ((v - m i) * (v - m i));
  grad := fun i (v : line) => c i * (v - m i); w_star := (o : line); w_i_star := m |}.
(* n is 0 or 1: the earlier step, of size before, used the gradients at the start. *)
Definition step : Step clients := {|
  H := 1; chance := fun _ => 1; alpha := fun _ => a; begin := fun _ => (start : V clients);
  taken := n; Model.before := fun _ => before; K := fun _ => 1%nat; luck := fun _ _ => 1;
  past := fun _ _ _ i => (c i * (start - m i) : V clients); S := fun _ _ => 1%nat; odds := fun _ _ _ => 1;
  xi := fun _ _ _ _ => (0 : V clients); eta := size |}.

Lemma step_setting : 0 <= c 0%nat -> 0 <= c 1%nat -> 0 < q 0%nat -> 0 < q 1%nat -> q 0%nat + q 1%nat = 1 ->
  0 <= a 0%nat -> 0 <= a 1%nat -> a 0%nat + a 1%nat = 1 ->
  q 0%nat * (c 0%nat * (o - m 0%nat)) + q 1%nat * (c 1%nat * (o - m 1%nat)) = 0 -> 0 < size -> setting step.
Proof.
  intros C0 C1 Q0 Q1 Q A0 A1 A O E. unfold setting, weights. cbn.
  repeat split; intros; try lra;
    try (destruct i as [|[|i]]; [lra|lra|lia]);
    try (destruct i as [|i]; [lra|lia]).
  - assert (0 <= c i) by (destruct i as [|[|i]]; [lra|lra|lia]). pose proof (Rle_0_sqr (v - m i)) as S. unfold Rsqr in S. nra.
  - pose proof (Rle_0_sqr (v - o)) as S. unfold Rsqr in S.
    assert (T : 0 <= (q 0%nat * c 0%nat + q 1%nat * c 1%nat) / 2 * ((v - o) * (v - o))).
    { apply Rmult_le_pos; [|assumption]. assert (0 <= q 0%nat * c 0%nat) by (apply Rmult_le_pos; lra).
      assert (0 <= q 1%nat * c 1%nat) by (apply Rmult_le_pos; lra). lra. }
    assert (Z : (v - o) * (q 0%nat * (c 0%nat * (o - m 0%nat)) + q 1%nat * (c 1%nat * (o - m 1%nat))) = 0) by (rewrite O; ring).
    lra.
Qed.
Lemma clients_smooth L : c 0%nat <= L -> c 1%nat <= L -> smooth clients L.
Proof.
  intros A B i u v Hi. assert (K : c i <= L) by (cbn in Hi; destruct i as [|[|i]]; [assumption|assumption|lia]).
  unfold norm_sq, sub. cbn. pose proof (Rle_0_sqr (v + -1 * u)) as S. unfold Rsqr in S. nra.
Qed.
Lemma clients_convex mu : mu <= c 0%nat -> mu <= c 1%nat -> strongly_convex clients mu.
Proof.
  intros A B i u v Hi. assert (K : mu <= c i) by (cbn in Hi; destruct i as [|[|i]]; [assumption|assumption|lia]).
  unfold norm_sq, sub. cbn. pose proof (Rle_0_sqr (v + -1 * u)) as S. unfold Rsqr in S. nra.
Qed.
(* These constants are attained: no smaller L, no larger mu; and the step is one of a first round. *)
Lemma clients_least L i : (i < 2)%nat -> c i = L -> c 0%nat <= L -> c 1%nat <= L -> least (fun L => smooth clients L) L.
Proof.
  intros I A B C. split; [exact (clients_smooth L B C)|]. intros y Y.
  specialize (Y i (0 : V clients) (1 : V clients) I). unfold norm_sq, sub in Y. cbn in Y. lra.
Qed.
Lemma clients_greatest mu i : (i < 2)%nat -> c i = mu -> mu <= c 0%nat -> mu <= c 1%nat ->
  greatest (fun mu => strongly_convex clients mu) mu.
Proof.
  intros I A B C. split; [exact (clients_convex mu B C)|]. intros y Y.
  specialize (Y i (0 : V clients) (1 : V clients) I). unfold norm_sq, sub in Y. cbn in Y. lra.
Qed.
Lemma step_first : (n <= 1)%nat -> 0 < before -> first_round step.
Proof.
  intros A B. split; [reflexivity|]. intros d k s i _ S _. cbn in S.
  assert (s = 0%nat) as -> by lia. cbn. split; [exact B|]. unfold sub. cbn. ring.
Qed.
Lemma step_possible : possible step.
Proof. intros d k _. cbn. split; intros; lra. Qed.
End Clients.

(* Everything that a statement says of the step, as numbers; indices run over at most two values. *)
Ltac indices := repeat match goal with
  | H : seen _ ?c ?k |- _ => destruct H as [? ?]
  | H : _ /\ _ |- _ => destruct H
  | H : (?i < _)%nat |- _ => cbn in H; (destruct i as [|i]; [clear H|try (destruct i as [|i]; [clear H|])]; try lia)
  end.
Ltac numbers := unfold least, greatest, gaps_now, gaps_at_start, skew_at_start, skew_at_least, star_skew_at_most, ratio_at_least, ratio_at_most, steps_within,
  bounded_variance, bounded_gradient, in_round in *; repeat split; intros; indices;
  cbv [Delta Delta_next drift Delta_p Delta_next_p drift_p expected given_past since_start mean sum vsum centre norm_sq sub
    w w_next w_p w_next_p x g excess Gamma step clients line point two ip add scale zero begin taken Model.before past eta
    alpha xi H chance K luck S odds V N p F grad w_star w_i_star Nat.eqb INR] in *; try lra; try lia.
(* A fact of a constant, taken at one outcome of the step, as a fact of numbers. *)
Ltac at_numbers Y := cbv [expected given_past since_start mean sum vsum centre norm_sq sub w x g excess Gamma step clients line
  point two ip add scale zero begin taken Model.before past eta alpha xi H chance K luck S odds V N p F grad w_star w_i_star
  INR] in Y; lra.
Ltac inside := repeat split; cbn; lia.
Ltac attained_gradient client := split; [numbers|intros y [_ Y]; unfold step, clients in Y; cbn [taken H N] in Y;
  specialize (Y 0%nat 0%nat client ltac:(inside) ltac:(inside) ltac:(inside)); at_numbers Y].
Ltac attained_start := split; [numbers|intros y Y; specialize (Y 0%nat ltac:(inside)); at_numbers Y].
Ltac attained_variance := split; [numbers|intros y Y; specialize (Y 0%nat 0%nat 0%nat ltac:(inside) ltac:(inside)); at_numbers Y].
