"""Slips that implementations make: each is an algorithm with one method, or two, written wrongly."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

import numpy as np

from fedbounds.model.algorithm import Algorithm, Round, State, spread
from fedbounds.model.problem import Array

Wrong = dict[str, Any]  # name in the class -> what stands there by mistake

REPLACING = {True: "with", False: "without"}


def slips(algorithm: Algorithm) -> dict[str, Algorithm]:
    """Words -> the algorithm with that slip, for every slip known of it."""
    kind: Any = type(algorithm)
    values = {field.name: getattr(algorithm, field.name) for field in fields(kind)}
    result: dict[str, Algorithm] = {}
    if values.get("server_step", 1.0) != 1:
        result["the server's step is forgotten"] = kind(**values | {"server_step": 1.0})
    drawn: dict[str, Wrong] = {
        f"samples are drawn {REPLACING[kind.reshuffles]} replacement": {"reshuffles": not kind.reshuffles},
        "a batch is drawn without replacement, and afresh at each step": {"distinct": True},
    }
    moves = OF_MOVES if algorithm.key in AVERAGING else {}
    for words, wrong in {**drawn, **ANY, **WEIGHTS, **moves, **OF_ALGORITHM.get(algorithm.key, {})}.items():
        given = values | {name: value for name, value in wrong.items() if name in values}
        result[words] = type("Slip", (kind,), {} if given != values else wrong)(**given)
    if algorithm.key == "scaffold":
        other = 3 - values["option"]
        result[f"c_i is renewed by option {other}"] = kind(**values | {"option": other})
    if algorithm.key == "scaffnew" and 0 < values["q"] < 1:
        result["it communicates with probability 1 - q"] = kind(**values | {"q": 1 - values["q"]})
    return result


def _right(slip: Algorithm, state: State, now: Round) -> State:
    """The round as it should be."""
    after: State = _right_base(slip).round(slip, state, now)
    return after


def _right_base(slip: Algorithm) -> Any:
    """The class without the slip."""
    return type(slip).__base__


def _given(edit: Callable[[Round], Round]) -> Wrong:
    """The round with something else given."""
    return {"round": lambda self, state, now: _right(self, state, edit(now))}


def _moved(factor: Callable[[Round], Array | float], share: float = 1.0) -> Wrong:
    """w <- keep w + factor (w' - w) for the right w'."""

    def wrong(self: Algorithm, state: State, now: Round) -> State:
        after = _right(self, state, now)
        return after | {"w": share * state["w"] + factor(now) * (after["w"] - state["w"])}

    return {"round": wrong}


class _SummedDrawn(Round):
    """A round whose gradients are sums over a drawn batch."""

    def gradient(self, x: Array, k: int) -> Array:
        return (1 if self.draws is None else self.draws.shape[-1]) * super().gradient(x, k)


class _Summed(_SummedDrawn):
    """A round whose gradients are sums over the batch, and over all samples where there is none."""

    def gradient(self, x: Array, k: int) -> Array:
        return (self.problem.sizes[:, None] if self.draws is None else 1) * super().gradient(x, k)


def _relayed(self: Algorithm, state: State, now: Round) -> State:
    """Every client starts from where the one before it ended."""
    w, ended = state["w"], spread(state["w"], now.problem.N)
    for i in range(now.problem.N):
        x = self.walk(spread(w, now.problem.N), state, now)
        w = np.where(now.present[:, i, None], x[:, i], w)
        ended[:, i] = w
    return self.aggregate(ended, state, now)


def _equal(now: Round) -> Round:
    return replace(now, alpha=now.present / now.present.sum(-1, keepdims=True))


def _moves(weights: Array, x: Array, state: State) -> Array:
    """sum_i weights_i (x_i - w) (R, d)."""
    return np.einsum("rn,rnd->rd", weights, x - state["w"][:, None])


RENORMALISED = "the weights are not renormalised over the clients present"
DIVIDED = "the sum is divided by N, not by the number present"
# Of algorithms whose server averages models these are two slips, of those that average moves they are one.
WEIGHTS = {
    RENORMALISED: _given(lambda now: replace(now, alpha=now.problem.p * now.present)),
    DIVIDED: _given(lambda now: replace(now, alpha=now.present / now.problem.N)),
}
OF_MOVES = {
    f"{RENORMALISED}, moves being averaged": {
        "move": lambda self, x, s, now: _moves(now.problem.p * now.present, x, s)
    },
    f"{DIVIDED}, moves being averaged": {"move": lambda self, x, s, now: _moves(now.present / now.problem.N, x, s)},
}
AVERAGING = ("fedavg", "fedavgm", "fedprox", "local-rr", "minibatch", "scaffold")
ANY: dict[str, Wrong] = {
    "clients are weighted equally, not by p": _given(_equal),
    "every client takes part, whoever was drawn": _given(
        lambda now: replace(now, alpha=np.tile(now.problem.p, (len(now.alpha), 1)), present=np.ones_like(now.present))
    ),
    "one local step too few": {"spare": -1},
    "one local step too many": {"spare": 1},
    "gradients are summed over the batch, not averaged": _given(lambda now: _Summed(**vars(now))),
    "gradients are summed over a drawn batch, but averaged over all samples": _given(
        lambda now: _SummedDrawn(**vars(now))
    ),
    "every local step uses the first batch": _given(
        lambda now: replace(now, draws=None if now.draws is None else np.repeat(now.draws[:1], len(now.eta), axis=0))
    ),
    "the mean move is taken for the model": _moved(lambda now: 1.0, share=0.0),
    "the mean move is subtracted": _moved(lambda now: -1.0),
    "the server's old model is averaged in as one more client": _moved(
        lambda now: (1 - 1 / (1 + now.present.sum(-1)))[:, None]
    ),
    "a client starts from where the last one ended": {"round": _relayed},
    "the server's step is doubled": _moved(lambda now: 2.0),
    "each client takes part by a coin of its own, not a fixed number of them": {"bernoulli": True},
}


def _scaffold(variate: Callable[[Array, State, Round], Array]) -> Wrong:
    return {"variate": lambda self, x, state, now: variate(x, state, now)}


def _mean_change(x: Array, state: State, now: Round) -> Array:
    return (state["w"][:, None] - x) / now.eta.sum()


def _after(edit: Callable[[State, State, Round], State]) -> Wrong:
    """Something else made of the state after the right round."""

    def wrong(self: Algorithm, state: State, now: Round) -> State:
        after = _right(self, state, now)
        return after | edit(state, after, now)

    return {"round": wrong}


def _by_present(state: State, after: State, now: Round) -> State:
    moved = now.mean(after["c_i"] - state["c_i"])
    return {"c": state["c"] + moved}


def _late(state: State, after: State, now: Round) -> State:
    change = now.present[..., None] * (after["w"] - state["w"])[:, None] / now.eta.sum()
    c_i = after["c_i"] + change
    return {"c_i": c_i, "c": state["c"] + np.einsum("n,rnd->rd", now.problem.p, c_i - state["c_i"])}


def _scaled(state: State, after: State, factor: Array) -> State:
    return {"w": state["w"] + factor[:, None] * (after["w"] - state["w"])}


def _local(step: Callable[[Any, Array, int, State, Round], Array]) -> Wrong:
    """Local steps against another vector than the right one."""
    return {"local": lambda self, x, k, state, now: x - now.eta[k] * step(self, x, k, state, now)}


def _scaffnew(change: Callable[[Array, float], Array]) -> Wrong:
    """h_i changed by change(ratio (mean - x), q), which should be its first argument."""

    def meet(self: Any, x: Array, h: Array, ratio: float, now: Round) -> tuple[Array, Array]:
        met = spread(now.mean(x - h / ratio), x.shape[1])
        return met, h + change(ratio * (met - x), self.q or 1 / len(now.eta))

    return {"meet": meet}


def _momentum(self: Any, state: State, move: Array, beta: float) -> State:
    m = beta * state["m"] + move
    return {"w": state["w"] + self.server_step * m, "m": m}


def _nesterov(self: Any, move: Array, state: State) -> State:
    m = self.momentum * state["m"] + move
    return {"w": state["w"] + self.server_step * (self.momentum * m + move), "m": m}


def _steps_of_clients(now: Round) -> Array:
    from fedbounds.algorithms.fednova import FedNova

    return FedNova().steps(now.problem, len(now.eta)).astype(float)


def _ratio(moves: Array, now: Round, epsilon: float) -> Array:
    apart = np.einsum("rn,rnd,rnd->r", now.alpha, moves, moves)
    return apart / ((now.mean(moves) ** 2).sum(-1) + epsilon)


def _normalised(self: Any, x: Array, k: int, state: State, now: Round) -> Array:
    away = x - state["w"][:, None]
    norm = np.linalg.norm(away, axis=-1, keepdims=True)
    return now.gradient(x, k) + self.strength * away / np.where(norm > 0, norm, 1.0)


OF_ALGORITHM: dict[str, dict[str, Wrong]] = {
    "fedavgm": {
        "the momentum is forgotten": {"momentum": 0.0},
        "the new move is damped by 1 - momentum": {
            "aggregate": lambda self, x, s, now: _momentum(
                self, s, (1 - self.momentum) * (now.mean(x) - s["w"]), self.momentum
            )
        },
        "1 - momentum stands for the momentum": {
            "aggregate": lambda self, x, s, now: _momentum(self, s, now.mean(x) - s["w"], 1 - self.momentum)
        },
        "the momentum is Nesterov's": {"aggregate": lambda self, x, s, now: _nesterov(self, now.mean(x) - s["w"], s)},
    },
    "fedprox": {
        "the proximal term has the wrong sign": _local(
            lambda self, x, k, s, now: now.gradient(x, k) - self.strength * (x - s["w"][:, None])
        ),
        "the proximal term is forgotten": _local(lambda self, x, k, s, now: now.gradient(x, k)),
        "the proximal term is strength ||x - w||^2, without the half": _local(
            lambda self, x, k, s, now: now.gradient(x, k) + 2 * self.strength * (x - s["w"][:, None])
        ),
        "the strength of the proximal term is squared": _local(
            lambda self, x, k, s, now: now.gradient(x, k) + self.strength**2 * (x - s["w"][:, None])
        ),
        "the proximal gradient is normalised, strength (x - w)/||x - w||": _local(_normalised),
        "the proximal term pulls to the origin": _local(
            lambda self, x, k, s, now: now.gradient(x, k) + self.strength * x
        ),
    },
    "scaffold": {
        "the control variates have the wrong sign": _local(
            lambda self, x, k, s, now: now.gradient(x, k) + s["c_i"] - s["c"][:, None]
        ),
        "the control variates are not used": _local(lambda self, x, k, s, now: now.gradient(x, k)),
        "the server's control variate is left out of the step": _local(
            lambda self, x, k, s, now: now.gradient(x, k) - s["c_i"]
        ),
        "c is stale: it never moves": _after(lambda s, after, now: {"c": s["c"]}),
        "c_i never moves": _after(lambda s, after, now: {"c_i": s["c_i"]}),
        "the control variates are frozen: neither c nor c_i moves": _after(
            lambda s, after, now: {"c": s["c"], "c_i": s["c_i"]}
        ),
        "c moves by the mean over those present, not over all N": _after(_by_present),
        "c is left out of the new c_i": _scaffold(lambda x, s, now: s["c_i"] + _mean_change(x, s, now)),
        "c_i is not divided by the number of steps": _scaffold(
            lambda x, s, now: s["c_i"] - s["c"][:, None] + len(now.eta) * _mean_change(x, s, now)
        ),
        "c_i is not divided by the step size": _scaffold(
            lambda x, s, now: s["c_i"] - s["c"][:, None] + now.eta.mean() * _mean_change(x, s, now)
        ),
        "the change of c_i has the wrong sign": _scaffold(
            lambda x, s, now: s["c_i"] - s["c"][:, None] - _mean_change(x, s, now)
        ),
        "c_i is measured from the new model": _after(_late),
        "c_i moves for absent clients too": {
            "aggregate": lambda self, x, s, now: _right_base(self).aggregate(
                self, x, s, replace(now, present=np.ones_like(now.present))
            )
        },
    },
    "scaffnew": {
        "the control variates have the wrong sign": _local(lambda self, x, k, s, now: now.gradient(x, k) + s["h_i"]),
        "the control variates never move": _scaffnew(lambda move, q: 0 * move),
        "the change of h_i has the wrong sign": _scaffnew(lambda move, q: -move),
        "h_i moves by 1/eta, not q/eta": _scaffnew(lambda move, q: move / q),
        "it communicates after every step": {"q": 1.0},
    },
    "fednova": {
        "moves are averaged without dividing by the number of steps": {
            "aggregate": lambda self, x, s, now: {"w": now.mean(x)}
        },
        "the mean direction is not multiplied by the mean number of steps": _moved(
            lambda now: 1 / (now.alpha @ _steps_of_clients(now))[:, None]
        ),
        "clients are weighted equally and the move is multiplied by N over the number present": {
            "round": lambda self, s, now: _scaled(s, _right(self, s, _equal(now)), 1 / now.present.mean(-1))
        },
        "the mean direction is multiplied by the largest number of steps": _moved(
            lambda now: len(now.eta) / (now.alpha @ _steps_of_clients(now))[:, None]
        ),
    },
    "fedexp": {
        "the 2 of the denominator is missing": {"step": lambda self, moves, now: _ratio(moves, now, self.epsilon)},
        "the step may fall below 1": {"step": lambda self, moves, now: _ratio(moves, now, self.epsilon) / 2},
        "epsilon is forgotten": {"step": lambda self, moves, now: np.maximum(1.0, _ratio(moves, now, 0.0) / 2)},
        "the adaptive step is not used": {"step": lambda self, moves, now: np.ones(len(moves))},
    },
    "minibatch": {
        "gradients are taken at the moving local model": _local(
            lambda self, x, k, s, now: now.gradient(x, k) / len(now.eta)
        ),
        "the tau gradients are summed, not averaged": _local(
            lambda self, x, k, s, now: now.gradient(s["w"][:, None], k)
        ),
    },
    "sgd": {
        "models are averaged only at the end": _local(lambda self, x, k, s, now: now.gradient(x, k)),
    },
}
