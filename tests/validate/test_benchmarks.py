"""The benchmarks run small: what is compared agrees, and the tables, files and the picture come out."""

import functools
import json
from pathlib import Path

import numpy as np
import pytest

from validate.benchmarks import __main__ as bench
from validate.benchmarks import commands, engine, growth

ROOT = Path(__file__).resolve().parents[2]
STORED = ("commands", "engines", "growth", "against_pepit")


def test_one_table_of_all_engines(tmp_path, capsys, monkeypatch):
    """On few clients and samples; the plain kernel, which takes long to compile, is timed by `make bench` alone."""
    monkeypatch.setattr(engine, "workload", functools.partial(engine.workload, N=4, n=30))
    monkeypatch.setattr(engine, "plain_numba", engine.fedbounds)
    bench.main(["--rounds", "2", "--replicates", "2", "--repeats", "1", "--only", "engines", "--out", str(tmp_path)])
    printed, result = capsys.readouterr().out, json.loads((tmp_path / "engines.json").read_text())
    for kind in ("W", "L"):
        rows = result["workloads"][kind]
        assert rows["fedbounds"]["over fedbounds"] == 1
        assert {"plain numba kernel", "gathered numpy", "researcher's loop", engine.FULL} <= set(rows)
        assert all(row["wall"] > 0 for row in rows.values())
        assert all(name in printed for name in rows)
    assert "-" in engine.table({"W": {"only": {"wall": 1.0, "processor": 1.0, "over fedbounds": 1.0}}, "L": {}})
    assert result["machine"]["numpy"] == np.__version__


def test_an_engine_that_goes_astray_is_not_timed():
    experiment = engine.workload("W", rounds=2, N=3, n=20, d=4, replicates=2)
    wrong = {"fedbounds": engine.fedbounds, "wrong": lambda e: engine.fedbounds(e.with_(seed=1))}
    with pytest.raises(AssertionError, match="wrong"):
        engine.timings(wrong, experiment, 1)


def test_a_ratio_that_rose_by_more_than_a_fifth_is_said(tmp_path, capsys):
    path = tmp_path / "history.json"
    for ratio in (2.0, 2.3, 3.0):
        bench.remember(path, {"W": {"fedbounds": {"over C": ratio}, "scaled": {"wall": 1.0}}})
    assert capsys.readouterr().out.splitlines() == [
        "slower: W: fedbounds takes 3 times the C kernel, 2.3 in the run before"
    ]
    assert [entry["ratios"] for entry in json.loads(path.read_text())][-1] == {"W: fedbounds": 3.0}


def test_the_page_has_the_stored_figures():
    page = (ROOT / "docs" / "performance.md").read_text(encoding="utf-8")
    stored = {name: json.loads((ROOT / f"validate/results/{name}.json").read_text()) for name in STORED}

    def short(seconds):
        return f"{seconds:.1f}" if seconds < 20 else f"{seconds:.0f}"

    for row in (stored["commands"][name] for name in (*commands.GOALS, *commands.LONG_GOALS)):
        assert f"| {short(row['wall'])} | {short(row['processor'])} | {row['goal']}" in page
        assert f"| {row['over C']:,.0f} |" in page
    for name, row in stored["engines"]["workloads"]["W"].items():
        other = stored["engines"]["workloads"]["L"].get(name)
        if row["wall"] < 20:
            cells = [f"{result[key]:.3f}" for result in (row, other or {}) for key in ("wall", "processor") if result]
            assert all(f" {cell} |" in page for cell in cells), name
    for row in stored["against_pepit"]["curve"]:
        names = ("seconds", "pepit_seconds", "certificate_seconds", "certificate_solve_seconds")
        own, pepit, whole, solve = (f"{float(f'{1000 * row[name]:.2g}'):g}" for name in names)
        gap = f"{row['largest_difference']:.1e}".replace("e-0", "e-")
        assert f"| {row['N']} | {row['tau']} | {own} | {pepit} | {gap} | {whole} | {solve} |" in page
    for row in stored["against_pepit"]["rounds"]:
        assert (
            f"| {row['rounds']} | {row['tau']} | {row['seconds']:.1f} | {row['verification_seconds']:.2f} |" in page
        )
    for name in growth.LEAST:
        rows = [stored["growth"][row][name] for row in growth.RUNS]
        ends = f"{rows[0]['sizes'][0]} to {rows[0]['sizes'][-1]}"
        cells = (f"{row['seconds'][0]:.2f} to {row['seconds'][-1]:.2f} | {row['slope']:.2f}" for row in rows)
        assert f"| {name} | {ends} | {' | '.join(cells)} |" in page
    for name, row in stored["against_pepit"]["commands"].items():
        assert f"| `fedbounds {name}` | {row['processor']:.1f} |" in page
