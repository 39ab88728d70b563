"""The map of steps and temperatures: rounds to levels of made-up records whose answers are known."""

import json

import pytest
from made_runs import record

from validate.vision import mapped, page, stored
from validate.vision.experiments import MAP_STEPS, MAP_TEMPERATURES, map_of
from validate.vision.mapped import Cell, compared

FASTER, SLOWER = [0.1, 0.65, 0.75, 0.85, 0.95], [0.1, 0.5, 0.65, 0.75, 0.85]


def write(folder, made):
    folder.mkdir(parents=True, exist_ok=True)
    name = f"run-{made['weighting'].replace(':', '-')}-{made['repetition']:03d}.json"
    (folder / name).write_text(json.dumps(made))


@pytest.fixture
def results(tmp_path):
    """NIID at two steps: FedSoftMax(0.1) is faster at the first and slower at the second."""
    for step, soft, plain in ((MAP_STEPS[0], FASTER, SLOWER), (MAP_STEPS[1], SLOWER, FASTER)):
        name = f"map/niid-lr-{step:g}"
        settings = map_of(MAP_STEPS, MAP_TEMPERATURES)[name].settings.to_json()
        for weighting, accuracy in (("fedavg", plain), ("fedsoftmax:0.1", soft)):
            full = accuracy + [accuracy[-1]] * (settings["rounds"] + 1 - len(accuracy))
            write(tmp_path / name, record(full, weighting, settings=settings))
    write(tmp_path / name, record(full, "fedsoftmax:0.1", repetition=1, settings=settings))  # it has no pair
    return tmp_path


def test_cells_are_the_pairs_that_are_stored(results):
    result = mapped.cells(results)
    assert [(cell.framework, cell.step, cell.T) for cell in result] == [
        ("NIID", step, T) for step in MAP_STEPS[:2] for T in (None, 0.1)
    ]
    assert result[0].rounds == ((2,), (3,), (4,), (None,)) and result[1].rounds == ((1,), (2,), (3,), (4,))
    assert len(result[-1].rounds[0]) == 1


def test_a_cell_is_faster_slower_or_alone():
    def cell(*rounds):
        return Cell("NIID", 0.1, None, (rounds,))

    assert compared(cell(2, 4), cell(4, 8), 0) == ("faster", 0.5)
    assert compared(cell(8, 4), cell(2, 4), 0) == ("slower", 2.0)
    assert compared(cell(8), cell(8), 0) == ("even", 1.0)
    assert compared(cell(3, None), cell(None, None), 0) == ("only FedSoftMax", None)
    assert compared(cell(None), cell(5), 0) == ("only FedAvg", None)
    assert compared(cell(None, 3), cell(2, None), 0) == compared(cell(None), cell(None), 0) == ("neither", None)


def test_the_table_counts_the_cells(results):
    text = page.the_map(stored.Stored({}, {}, mapped.cells(results)))
    assert (MAP_STEPS[0] / 0.1, MAP_STEPS[1] / 0.1) == (0.03, pytest.approx(0.1))
    assert "| at most 0.03 | 3 | 0 | 0 | 1 | 0 | 0 |" in text and "| between | 0 | 0 | 3 | 0 | 1 | 0 |" in text
    assert page.the_map(stored.Stored({}, {})) == page.NOTHING


def test_what_the_page_says_of_step_over_T_is_so():
    """The sentences above the map: nowhere slower at the lowest step/T, nowhere faster at the highest."""
    (_, low, between, high) = (None, *mapped.counts(stored.load().cells)[1])
    faster, even, slower, soft, plain = low[1:6]
    assert slower == plain == 0 and faster + soft > even
    assert between[1] > 0 and between[3] + between[5] > 0
    assert high[1] == high[4] == 0 and high[3] > high[2]
    cells = {(cell.framework, cell.step, cell.T): cell.rounds for cell in stored.load().cells}
    assert len(cells) == 2 * len(MAP_STEPS) * (1 + len(MAP_TEMPERATURES))
    slowest = [(cells[f, MAP_STEPS[0], None], cells[f, MAP_STEPS[0], 0.2]) for f in ("NIID", "TNIID")]
    assert all(sum(r == (None,) for r in plain) > sum(r == (None,) for r in soft) for plain, soft in slowest)
    ninety = {key: rounds[-1][0] for key, rounds in cells.items() if rounds[-1][0] is not None}
    assert {step for _, step, _ in ninety} == {0.1}
    assert all(ninety[f, 0.1, None] - reached <= 1 for (f, _, T), reached in ninety.items() if T)
