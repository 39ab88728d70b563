"""A second checker of certificates, with the standard library only: it shares no line and no import with the first.

    python -m validate.second_checker derivations/certificates/*.jsonl

A certificate says lhs <= sum_k rhs_k form_k for all L-smooth mu-strongly convex clients at a setting, by multipliers
of inequalities that such clients satisfy and a remainder that is a sum of squares. The points of a round, what is
assumed of them, the inequalities and the pivoting are made here anew; what a claim says is read as text, from
``fedbounds claims --format json``.

A stored proof may survive a mistake in the first checker's model, which later proofs would use. So that model is read
as well (`validate.model_polynomials` prints it): each of its inequalities and quantities must be the one made here.
"""

import json
import random
import re
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

ONE, NOTHING = Fraction(1), Fraction(0)
READINGS = ("literal", "sync", "all-steps", "repaired")
QUANTITIES = ("Delta", "drift", "G_sq", "Gamma", "excess", "sigma_sq", "Delta_0")
# A formula is linear if it is so at a point with no accidents.
SIZES = (Fraction(1, 1000), Fraction(3, 7), ONE, Fraction(1000))
GENERIC = {name: Fraction(10**9 + 7 * k * k, 998244353 + k) for k, name in enumerate((*QUANTITIES, "rho_tilde"))}


def need(condition, why):
    if not condition:
        raise ValueError(why)


def total(*parts):
    """sum of (number, vector or polynomial); in a polynomial ("f",) is a value, ("u", "v") an inner product."""
    out = {}
    for number, item in parts:
        for key, value in item.items():
            out[key] = out.get(key, 0) + number * value
    return {key: value for key, value in out.items() if value}


def mean(weights, things):
    return total(*zip(weights, things, strict=True))


def less(a, b):
    return total((ONE, a), (-ONE, b))


def dot(u, v):
    return total(*((x * y, {tuple(sorted((a, b))): ONE}) for a, x in u.items() for b, y in v.items()))


def solved(letter, weights):
    """Vectors whose weighted sum vanishes: the last one of positive weight is expressed by the others."""
    j = max(i for i, weight in enumerate(weights) if weight)
    free = [{f"{letter}{i}": ONE} for i in range(len(weights))]
    free[j] = total(*((-weights[i] / weights[j], item) for i, item in enumerate(free) if i != j))
    return free


class Round:
    """A setting and its points: per client a dict name -> (position from w*, gradient, value), and w_t0, .., w_t."""

    def __init__(self, s):
        self.alpha, self.p, self.eta = ([Fraction(v) for v in s[name]] for name in ("alpha", "p", "eta"))
        self.mu, self.L, self.rho_bar = (Fraction(s[name]) for name in ("mu", "L", "rho_bar"))
        self.rho_tilde = None if s["rho_tilde"] is None else Fraction(s["rho_tilde"])
        self.N, self.s, self.tau = len(self.p), len(self.eta) - 1, s["tau"]
        self.any, self.noisy = ("steps", "any").index(s["local"]), ("full", "stochastic").index(s["gradients"])
        self.literal, self.every = (reading := READINGS.index(s["reading"])) == 0, reading > 1
        self.inside = self.p if self.literal else self.alpha
        need(type(self.tau) is int and 0 <= self.s < self.tau, "the step is not one of the round's")
        need(len(self.alpha) == self.N and sum(self.alpha) == sum(self.p) == 1, "weights must sum to 1")
        need(min(self.alpha + self.p) >= 0 < min(self.eta) and 0 <= self.mu < self.L, "a sign is wrong, or mu >= L")
        self.ratios = [a / p for a, p in zip(self.alpha, self.p, strict=True) if p]
        need(0 <= self.rho_bar <= max(self.ratios), "no losses have this rho_bar")
        need(self.rho_tilde is None or self.rho_tilde >= min(self.ratios), "no losses have this rho_tilde")
        known = self.every or (self.s == 0 and not self.literal)
        need(known or not (self.any or self.noisy), "any local models, and noise, need the skew at w_t")
        need(not self.noisy or self.any or self.s == 0, "earlier noise needs any local models")
        slopes, offsets = solved("s", self.p), solved("y", self.alpha)
        self.points, self.middle = [{} for _ in range(self.N)], []
        here = [mean((ONE, self.any), ({"w": ONE}, y)) for y in offsets]
        for k in range(1 if self.any else self.s + 1):
            self.middle.append(mean(self.inside if k else self.alpha, here))
            for i, mine in enumerate(self.points):
                mine[f"x{k}"] = (here[i], {f"g{i},{k}": ONE}, {(f"f{i},{k}",): ONE})
                here[i] = total((ONE, here[i]), (-self.eta[k], {f"g{i},{k}": ONE}))
                mine[f"w{k}"] = (self.middle[k], {f"h{i},{k}": ONE}, {(f"v{i},{k}",): ONE})
        for i, mine in enumerate(self.points):
            mine["own"] = ({f"u{i}": ONE} if self.N > 1 else {}, {}, {})
            mine["star"] = ({}, slopes[i], {(f"e{i}",): ONE}) if self.N > 1 else mine["own"]

    def fact(self, label):
        """A polynomial that is >= 0 for all clients of the class, by its label."""
        kind, where, *rest = label.split(" ")
        if kind == "interpolation":
            (xa, ga, fa), (xb, gb, fb) = (self.points[int(where)][name] for name in rest[0].split("|"))
            x, g, q = less(xa, xb), less(ga, gb), self.mu / self.L
            bent = total((1 / self.L, dot(g, g)), (self.mu, dot(x, x)), (-2 * q, dot(g, x)))
            return total((ONE, less(fa, fb)), (-ONE, dot(gb, x)), (-1 / (2 * (1 - q)), bent))
        if kind == "gradient" and rest[0].startswith("x"):  # Assumption 4 speaks of the visited points
            g = self.points[int(where)][rest[0]][1]
            return total((ONE, {("G_sq",): ONE}), (-ONE, dot(g, g)), (-ONE, self.variance(int(where))))
        skewed = ("x0", *(f"w{k}" for k in range(1, self.s + 1) if self.every))
        if kind == "rho_bar" and where in (("w0",) if self.any else skewed):
            return mean([a - self.rho_bar * p for a, p in self.weights()], [mine[where][2] for mine in self.points])
        if kind == "rho_tilde" and where == "star":
            return mean([self.rho_tilde * p - a for a, p in self.weights()], [mine[where][2] for mine in self.points])
        if kind == "noise":
            return self.variance(int(where))
        if kind == "variance" and self.noisy:
            return less({("sigma_sq",): ONE}, self.variance(int(where)))
        # E||w_t^i - w_t0||^2 <= (sum of the earlier eta)^2 G^2 by Minkowski, and drift is about the mean.
        need(label == "drift w0" and self.noisy and self.any, f"nothing that the class satisfies is called {label}")
        return less({("G_sq",): sum(self.eta[:-1], NOTHING) ** 2}, self.form("drift"))

    def weights(self):
        return zip(self.alpha, self.p, strict=True)

    def variance(self, i):
        return {(f"n{range(self.N)[i]}",): ONE} if self.noisy else {}

    def form(self, name):
        """A quantity as a polynomial."""
        x, g, f = zip(*(mine["x0" if self.any else f"x{self.s}"] for mine in self.points), strict=True)
        _, slopes, excess = zip(*(mine["star"] for mine in self.points), strict=True)
        w, alpha, eta = self.middle[-1], self.alpha, self.eta[-1]
        after, noise = alpha if self.s + 1 == self.tau else self.inside, [eta**2 * a**2 for a in alpha]
        new = less(mean(after, x), mean([eta * a for a in after], g))
        forms = {
            "zero": {},
            "Delta": dot(w, w),
            "Delta_start": dot(self.middle[0], self.middle[0]),
            "Delta_next": total((ONE, dot(new, new)), (ONE, mean(noise, [self.variance(i) for i in range(self.N)]))),
            "drift": mean(alpha, [dot(less(y, w), less(y, w)) for y in x]),
            "Gamma": mean(self.p, excess),
            "Gamma_alpha": mean(alpha, excess),
            "G_sq": {("G_sq",): ONE},
            "sigma_sq": {("sigma_sq",): ONE},
            "star_grad_sq": mean(self.p, [dot(s, s) for s in slopes]),
            "grad_sq": dot(g[0], g[0]),
            "excess": f[0],
            "local_excess": mean(alpha, f),
            "local_gap": less(mean(alpha, f), mean(alpha, excess)),
            "local_pull": mean(alpha, [dot(y, h) for y, h in zip(x, g, strict=True)]),
            "pull": dot(w, mean(alpha, g)),
            "mean_slope_sq": dot(mean(alpha, g), mean(alpha, g)),
        }
        if self.N == 1 and not self.any:  # gradient descent from w_0
            forms |= {"gap": f[0], "Delta_0": forms["Delta_start"]}
        return forms[name]

    def stated(self, left, terms, scale):
        """What a claim's terms say here, as {form: number}; the points of one client bound nothing else."""
        known = {"eta": self.eta[-1], "mu": self.mu, "L": self.L, "rho_bar": self.rho_bar, "p_min": min(self.p)}
        known |= {
            "tau": Fraction(self.tau),
            "N": Fraction(self.N),
            "C": ONE,
            "__builtins__": {},
            "Fraction": Fraction,
        }
        known |= {"pi_min": min(self.ratios), "pi_max": max(self.ratios), "Max": max, "Min": min}
        if self.N == len(set(self.eta)) == 1 and not self.any and not self.noisy:
            known |= {"T": Fraction(self.s), "eta_0": self.eta[0]}
        known |= {"rho_tilde": self.rho_tilde} if self.rho_tilde is not None else {}
        unknown = dict.fromkeys(
            (*QUANTITIES, "rho_tilde", *(() if self.noisy else ("sigma_0_sq", "growth"))), NOTHING
        )
        need(set(scale) <= set(terms), "the scale names a term that the claim lacks")
        need(all(re.fullmatch(r"[\w+\-*/(), ]+", text) for text in terms.values()), "a formula is made of + - * /")
        codes = {name: re.sub(r"\b\d+\b", r"Fraction(\g<0>)", text) for name, text in terms.items()}

        def at(**point):
            names = unknown | point | known
            return sum((Fraction(scale.get(name, 1)) * eval(code, names) for name, code in codes.items()), NOTHING)

        result = {name: at(**{name: ONE}) for name in QUANTITIES}
        result["Gamma_alpha"] = at(Gamma=ONE, rho_tilde=ONE) - result["Gamma"]
        linear = {**GENERIC, "Gamma_alpha": GENERIC["Gamma"] * GENERIC["rho_tilde"]}
        need(at(**GENERIC) == sum(value * linear[name] for name, value in result.items()), "the claim is not linear")
        used = {name for name, number in result.items() if number}
        need(left != "gap" or used <= {"Delta_0"}, "the gap of a run is bounded by its start alone")
        need(left == "gap" or "Delta_0" not in used, "only the gap of a run is bounded by its start")
        need(left == "grad_sq" or "excess" not in used, "the excess is one client's")
        need(left != "grad_sq" or (used <= {"excess"} and self.s == 0), "no bound at one point of any client")
        need(result["Gamma_alpha"] >= 0, "the claim falls as rho_tilde grows: not covered for every rho_tilde")
        if not self.noisy:
            need(result.pop("sigma_sq") >= 0, "the claim falls as the variance grows")
            for more in ({bound: size} for bound in ("sigma_0_sq", "growth") for size in SIZES):
                grown = [at(**more) - at(), *(at(**{name: ONE}, **more) - at(**{name: ONE}) for name in QUANTITIES)]
                need(min(grown) >= 0, "the claim falls as the variance grows")
        return {name: value for name, value in result.items() if value}


def sum_of_squares(polynomial):
    """Whether a polynomial is <S, gram> with S >= 0, by eliminating the largest diagonal entry again and again."""
    if any(len(key) == 1 for key in polynomial):
        return False
    rest = {a: {} for key in polynomial for a in key}
    for (a, b), value in polynomial.items():
        rest[a][b] = rest[b][a] = value if a == b else value / 2
    while rest:
        k = max(rest, key=lambda a: rest[a].get(a, 0))
        row = rest.pop(k)
        pivot = row.pop(k, NOTHING)
        if pivot <= 0:  # no diagonal entry is larger, so all that is left must be zero
            return pivot == 0 and not any(v for line in (row, *rest.values()) for v in line.values())
        for a in row:
            del rest[a][k]
        for a, value in row.items():
            for b, other in row.items():
                rest[a][b] = rest[a].get(b, 0) - value * other / pivot
    return True


def judge(certificate, claims):
    """None where a certificate proves its inequality, else why it does not."""
    try:
        here = Round({"gradients": "full", **certificate["setting"]})
        rhs = {name: Fraction(value) for name, value in certificate["rhs"].items() if Fraction(value)}
        if certificate.get("claim") is not None:
            claim = claims[certificate["claim"]]
            sides, of_a_run = claim["sides"], claim["scope"] == "horizon"
            need(claim["kind"] == "inequality", "only inequalities are certified")
            need(of_a_run == (sides["left"] == "gap"), "a step's line is about no horizon")
            wanted = here.stated(
                sides["left"], sides["right"][certificate["setting"]["reading"]], certificate.get("scale", {})
            )
            need((sides["left"], wanted) == (certificate["lhs"], rhs), "this is not the claim's inequality")
            other = [label for label in certificate["multipliers"] if not label.startswith("interpolation 0 ")]
            need(sides["left"] != "grad_sq" or not other, "another client may lack what this one has")
        used = [(-Fraction(value), here.fact(label)) for label, value in certificate["multipliers"].items()]
        need(all(number <= 0 for number, _ in used), "a multiplier is negative")
        sides = [(-ONE, here.form(certificate["lhs"])), *((value, here.form(name)) for name, value in rhs.items())]
        need(sum_of_squares(total(*sides, *used)), "the remainder is no sum of squares")
    except (LookupError, ValueError, TypeError, AttributeError, ArithmeticError, NameError) as wrong:
        return f"{type(wrong).__name__}: {wrong}"
    return None


def value(polynomial, numbers):
    """A polynomial where every vector and value is a number."""
    return sum((c * numbers[key[0]] * numbers[key[-1]] ** (len(key) - 1) for key, c in polynomial.items()), 0)


def differences(setting, model):
    """What the first checker's model {label: [[coefficient, name, ..]]} at a setting says otherwise than this one.

    Two polynomials that agree where all vectors are random numbers of 60 bits are the same.
    """
    here, draw = Round({"gradients": "full", **setting}), random.Random(0)
    names = sorted({name for terms in model.values() for _, *names in terms for name in names})
    theirs = {name: Fraction(draw.getrandbits(60)) for name in names}
    for letter, weights in (("s", here.p), ("y", here.alpha)):  # vectors with a weighted sum of 0 lack one
        absent = [i for i in range(here.N) if f"{letter}{i}" not in theirs]
        if len(absent) == 1:
            rest = sum(w * theirs.get(f"{letter}{i}", 0) for i, w in enumerate(weights))
            theirs[f"{letter}{absent[0]}"] = -rest / weights[absent[0]]
    mine = {name.replace(".", ","): number for name, number in theirs.items()} | {"w": theirs.get("w0", 0)}
    mine.setdefault("sigma_sq", 0)  # full gradients have no noise
    for label, terms in model.items():
        made = total(*((Fraction(c), {tuple(names): ONE}) for c, *names in terms))
        try:
            same = value(made, theirs) == value(here.fact(label) if " " in label else here.form(label), mine)
        except (LookupError, ValueError, TypeError) as wrong:
            yield f"{label}: {wrong}"
            continue
        if not same:
            yield f"{label}: another polynomial than here"


def at(data, x):
    """The same with every function of a parameter at x, an interval left out."""
    if isinstance(data, dict) and data.keys() == {"num", "den"}:
        num, den = (sum(Fraction(c) * x**k for k, c in enumerate(data[part])) for part in ("num", "den"))
        return str(num / den)
    if isinstance(data, dict):
        return {key: at(value, x) for key, value in data.items() if key != "interval"}
    return [at(item, x) for item in data] if isinstance(data, list) else data


def points(certificate):
    """A certificate at one setting; one over an interval at four points of it, which prove nothing but may refute."""
    if (over := certificate.get("interval")) is None:
        return [certificate]
    low, high = Fraction(over["low"]), Fraction(over["high"] or 10**6)
    return [at(certificate, low + (high - low) / share) for share in (10**5, 9, Fraction(10, 9), 1)]


def main(files):
    """Check files of certificates, one a line: exit code 1 where one proves nothing."""
    ask = [sys.executable, "-m", "fedbounds.cli", "claims", "--format", "json"]
    claims = {claim["key"]: claim for claim in json.loads(subprocess.check_output(ask, text=True))}
    lines = [json.loads(line) for name in files for line in Path(name).read_text().splitlines()]
    verdicts = [next(filter(None, (judge(point, claims) for point in points(line))), None) for line in lines]
    wrong = [why for why in verdicts if why is not None]
    sound = [line for line, why in zip(lines, verdicts, strict=True) if why is None]
    settings = sorted({json.dumps(point["setting"]) for line in sound for point in points(line)})
    command = [sys.executable, "-m", "validate.model_polynomials"]
    models = subprocess.check_output(command, input="\n".join(settings), text=True, cwd=Path(__file__).parents[1])
    other = sorted(
        {
            why
            for setting, model in zip(settings, models.splitlines(), strict=True)
            for why in differences(json.loads(setting), json.loads(model))
        }
    )
    print("\n".join([*wrong, *other, f"{len(verdicts) - len(wrong)} certificates verified, {len(wrong)} rejected"]))
    print(f"{len(settings)} models read, {len(other)} of their lines differ")
    return 1 if wrong or other else 0


if __name__ == "__main__":
    sys.exit(print(__doc__) if sys.argv[1:] == ["--help"] else main(sys.argv[1:]))
