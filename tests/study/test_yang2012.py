"""The study of Yang, Fienberg and Rinaldo (2012): a tiny run of all of it, and the numbers that must come out."""

import json
import shutil
import sys
from dataclasses import replace
from fractions import Fraction
from html import escape
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from margrave import __version__, pipeline
from margrave.algebra.query import Query, answer
from margrave.algebra.table import Table
from margrave.cli.app import app
from margrave.errors import UsageError
from margrave.study.yang2012 import figures, journal, reproduce, subjects
from margrave.study.yang2012.grid import CONTENDERS, CRITERIA_TEXT, PROGRAMS, TABLES, Task
from margrave.study.yang2012.journal import FEW, FINE, GRID, NAME, OTHER, Journal, Settings
from margrave.study.yang2012.page import HEADINGS, READINGS, usable_rows
from margrave.study.yang2012.printed import comparison
from margrave.study.yang2012.runs import measure, outcome, work
from margrave.study.yang2012.subjects import planned, subject
from margrave.study.yang2012.summary import MEASURES, Summary

pytestmark = pytest.mark.slow

TINY = Settings((Fraction(1, 2), Fraction(1)), 2)
ROW = {"size": 70, "largest": 7.0, "mean": 5.0, "g2": 20.0, "p_value": 0.5, "l1": 0.1, "l2": 0.1, "bound": 1.0}
ROWS = [ROW] * TINY.runs


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A folder with a finished tiny study, its summary, and what the progress bar was told."""
    folder, seen = tmp_path_factory.mktemp("study"), []
    summary = reproduce.reproduce(folder, TINY, __version__, jobs=1, progress=lambda *told: seen.append(told))
    return folder, summary, seen


def test_progress_counts_every_run(finished):
    _, _, seen = finished
    assert seen[-1] == (96, 96)
    assert [done for done, _ in seen] == list(range(2, 97, 2))


def test_each_figure_is_a_small_picture(finished):
    folder, _, _ = finished
    assert sorted(path.stem for path in folder.glob("*.png")) == sorted(HEADINGS)
    for name in HEADINGS:
        content = (folder / f"{name}.png").read_bytes()
        assert len(content) < 60_000
        picture = Image.open(BytesIO(content))
        picture.load()
        assert picture.format == "PNG" and min(picture.size) > 200
        assert len(picture.convert("RGB").getcolors(1 << 16)) > 10  # Something is drawn.


def test_the_page_has_every_figure_with_its_text_and_loads_nothing(finished):
    folder, _, _ = finished
    page = (folder / "index.html").read_text(encoding="utf-8")
    assert page.count('src="data:image/png;base64,') == len(HEADINGS) == 7
    for name in HEADINGS:
        assert f'id="{name}"' in page and escape(HEADINGS[name]) in page and escape(READINGS[name]) in page
    assert page.count("NOT PRIVATE AS PRINTED") == 1
    assert all(text in page for text in ("17.257109", "1.2988", *map(escape, CRITERIA_TEXT.values())))
    assert "http" not in page.replace("http-equiv", "")


def test_margrave_is_better_than_the_linear_programs_and_mwem_everywhere(finished):
    _, summary, _ = finished
    for table in TABLES:
        for other in (*PROGRAMS, "mwem"):
            assert summary.worst_ratio(table, other)[1] < 1


def test_the_numbers_are_there_for_other_programs(finished):
    folder, summary, _ = finished
    found = json.loads((folder / "study.json").read_text(encoding="utf-8"))
    assert found == json.loads(json.dumps(summary.as_dict()))
    assert set(found["tables"]) == set(TABLES)
    assert set(found["tables"]["journey"]["contenders"]["barak"]) == set(MEASURES)
    assert "bound" not in found["tables"]["journey"]["contenders"]["margrave"]
    assert not found["tables"]["journey"]["printed_scale"]["private_as_printed"]


def test_the_command_goes_on_from_a_finished_study(finished, tmp_path, monkeypatch):
    folder, summary, _ = finished
    copied = shutil.copytree(folder, tmp_path / "copy")
    monkeypatch.setattr(journal, "FEW", TINY.epsilons)
    monkeypatch.setattr(reproduce, "work", lambda task: pytest.fail(f"{task} was done again"))
    monkeypatch.setattr(figures, "draw", lambda summary: {})
    arguments = ["reproduce", "yang2012", "--quick", "--runs", "2", "--jobs", "1", "--out", str(copied), "--json"]
    result = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert json.loads(result.stdout) == json.loads(json.dumps(summary.as_dict()))
    assert "NOT PRIVATE" in result.stderr


def test_a_study_that_was_cut_off_goes_on_to_the_same_results(finished, tmp_path):
    folder, summary, _ = finished
    lines = (folder / NAME).read_text(encoding="utf-8").splitlines()
    kept = [line for line in lines if '"printed"' not in line]
    torn = next(line for line in lines if '"printed"' in line)[:-20]
    (tmp_path / NAME).write_text("\n".join([*kept, torn]), encoding="utf-8")
    again = reproduce.run(tmp_path, TINY, __version__, jobs=1)
    assert again.done == summary.done
    assert Journal(tmp_path, TINY, __version__).done == summary.done


@pytest.mark.skipif(reproduce.cores() < 2, reason="needs two cores")
def test_two_processes_find_the_same(finished, tmp_path):
    folder, summary, _ = finished
    lines = (folder / NAME).read_text(encoding="utf-8").splitlines()
    kept = [line for line in lines if '"barak"' not in line or '"fungus"' not in line]
    assert len(kept) == len(lines) - 2
    (tmp_path / NAME).write_text("\n".join([*kept, ""]), encoding="utf-8")
    assert reproduce.run(tmp_path, TINY, __version__, jobs=2).done == summary.done


def test_an_interruption_keeps_what_is_finished(tmp_path, monkeypatch):
    done = []

    def fake(task):
        if len(done) == 3:
            raise KeyboardInterrupt
        done.append(task)
        return task, [ROW] * task.count

    monkeypatch.setattr(reproduce, "work", fake)
    with pytest.raises(KeyboardInterrupt):
        reproduce.run(tmp_path, TINY, "1", jobs=1)
    assert list(Journal(tmp_path, TINY, "1").done) == done == TINY.tasks[:3]
    assert [path.name for path in tmp_path.iterdir()] == [NAME]


def test_other_settings_or_another_version_begin_anew(tmp_path):
    task = TINY.tasks[0]
    Journal(tmp_path, TINY, "1").append(task, [ROW, ROW])
    assert Journal(tmp_path, TINY, "1").done == {task: [ROW, ROW]}
    before = (tmp_path / NAME).read_text(encoding="utf-8")
    assert Journal(tmp_path, TINY, "2").done == {}
    assert (tmp_path / OTHER).read_text(encoding="utf-8") == before
    Journal(tmp_path, TINY, "2").append(task, [ROW, ROW])
    assert Journal(tmp_path, Settings(TINY.epsilons, 3), "2").done == {}


def test_one_algorithm_can_be_run_again(finished, tmp_path, monkeypatch):
    folder, summary, _ = finished
    copied, done = shutil.copytree(folder, tmp_path / "copy"), []

    def fake(task):
        done.append(task)
        return task, [ROW] * task.count

    monkeypatch.setattr(reproduce, "work", fake)
    found = reproduce.run(copied, TINY, __version__, jobs=1, again="adaptive").done
    assert done == [task for task in TINY.tasks if task.contender == "adaptive"]
    assert all(found[task] == (ROWS if task.contender == "adaptive" else summary.done[task]) for task in TINY.tasks)
    assert Journal(copied, TINY, __version__).done == found


def test_runs_do_not_depend_on_how_they_are_divided():
    one = work(Task("fungus", "barak", "0.5", 0, 3))[1]
    two = work(Task("fungus", "barak", "0.5", 0, 1))[1] + work(Task("fungus", "barak", "0.5", 1, 2))[1]
    assert one == two and one[0] != one[1]


def test_the_grids():
    assert (GRID[0], GRID[-1]) == (FINE[0], FINE[-1]) == (Fraction("0.005"), Fraction(2))
    assert len(FINE) == 201 and Fraction("1.995") in FINE and Fraction(1) in GRID and Fraction(1) in FEW
    assert Settings().runs == 50
    covered = sum(task.count for task in Settings(GRID, 12).tasks)
    assert covered == 12 * len(GRID) * len(TABLES) * len(CONTENDERS)


@pytest.mark.parametrize(
    ("settings", "word"),
    [
        ({"runs": 1}, "2 runs"),
        ({"epsilons": ()}, "increasing"),
        ({"epsilons": (Fraction(2), Fraction(1))}, "increasing"),
    ],
)
def test_settings_that_make_no_study_are_refused(settings, word):
    with pytest.raises(UsageError, match=word):
        Settings(**settings)


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["yang2021"], "yang2012"),
        (["yang2012", "--quick", "--fine"], "not both"),
        (["yang2012", "--quick", "--jobs", "9999"], "cores"),
        (["yang2012", "--runs", "1"], "at least 2 runs"),
        (["yang2012", "--quick", "--again", "adaptiv"], "did you mean"),
        (["cuboids", "--again", "adaptive"], "leave the other options out"),
    ],
)
def test_wrong_usage_is_refused_before_anything_is_written(arguments, word, tmp_path):
    target = tmp_path / "out"
    result = CliRunner().invoke(app, ["reproduce", *arguments, "--out", str(target)])
    assert isinstance(result.exception, UsageError) and word in str(result.exception)
    assert not target.exists()


def test_without_matplotlib_the_message_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.delitem(sys.modules, "margrave.study.yang2012.figures", raising=False)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(UsageError, match=r"margrave\[study\]"):
        reproduce.reproduce(tmp_path / "out", TINY, "1", jobs=1)
    assert not (tmp_path / "out").exists()


def test_tables_7_and_8_to_every_digit():
    found = {(row.where, row.table, row.what.split(" of ")[0].split(" at ")[0]): row.right for row in comparison()}
    right = {
        "fungus": ("17.257109", "52", "1.339669", "300, 3, 1.5"),
        "czech": ("44.588126", "42", "0.884225", "550, 5.5, 2.75"),
        "rochdale": ("149.577762", "226", "1.429415", "375, 3.75, 1.875"),
        "journey": ("319.707292", "135", "1.383388", "171.48, 1.7148, 0.85742"),
    }
    for table, (g2, df, uniform, scale) in right.items():
        assert found["Table 7", table, "G²"] == g2
        assert found["Table 7", table, "degrees"] == df
        assert found["Section 4", table, "L1 between fit and uniform"] == uniform
        assert found["Table 8", table, "scale"] == scale
    extended = {row.table: row.reason.split()[-1] for row in comparison() if row.what == "degrees of freedom"}
    assert extended == {"fungus": "37", "czech": "42", "rochdale": "168", "journey": "12"}
    assert [subject(table).fit.exists for table in TABLES] == [False, True, False, False]
    assert found["Table 8", "czech", "bound"].startswith("281600, 2816, 1408 × log(22/δ)")
    assert found["Table 8", "rochdale", "bound"].endswith("log(30/δ) + 30")


def test_every_difference_has_a_reason():
    assert len(comparison()) == 6 + 4 * 3 + 4 * 2 + 4
    for row in comparison():
        assert row.reason
        assert row.reason.startswith("agrees") == alike(row.printed, row.right), row


def alike(printed, right):
    """Whether a number is the printed one, or rounds to it."""
    try:
        return abs(float(printed) - float(right)) < 0.005
    except ValueError:
        return printed == right


def test_the_documentation_shows_every_printed_number():
    page = (Path(__file__).parents[2] / "docs" / "risk-and-utility.md").read_text(encoding="utf-8")
    for row in comparison():
        assert f"| {row.where} | {row.table} | {row.what} | {row.printed} | {row.right} | {row.reason} |" in page
    for name in HEADINGS:
        assert f"(images/yang2012/{name}.png)" in page


def moved(whose, cells):
    """By how much the answers of the printed algorithm move in L1 when the given cells get ±1 record."""
    counts = np.zeros(whose.domain.shape(), dtype=np.int64)
    for cell, sign in cells:
        counts[cell] += sign
    table = Table(whose.domain, whose.domain.names, counts)
    kind = "contrast" if whose.binary else "residual"
    queries = [Query(margin, **{kind: margin}) for margin in whose.closure]
    return sum(int(np.abs(answer(whose.domain, one, table.project(one.margin).counts)).sum()) for one in queries)


@pytest.mark.parametrize("table", TABLES)
def test_the_real_epsilon_of_the_printed_scales_by_brute_force(table):
    whose = subject(table)
    scale = subjects.printed_scale(whose)
    origin = (0,) * len(whose.domain.names)
    assert Fraction(moved(whose, [(origin, 1)]), scale) == subjects.real_factor(whose)
    # By symmetry between the values of an attribute, one change of each set of attributes is enough.
    others = [cell for cell in np.ndindex(*(2,) * len(origin)) if any(cell)]
    worst = max(moved(whose, [(origin, 1), (cell, -1)]) for cell in others)
    assert Fraction(worst, scale) == subjects.replaced_factor(whose)


def test_only_journey_is_not_private_as_printed():
    assert [subjects.private_as_printed(subject(table)) for table in TABLES] == [True, True, True, False]
    journey = subject("journey")
    assert round(float(subjects.real_factor(journey)), 4) == 1.2988
    assert round(subjects.printed_scale(journey) / journey.domain.cells(), 4) == 1.3203
    assert subjects.replaced_factor(journey) > subjects.real_factor(journey)


@pytest.mark.parametrize("table", TABLES)
def test_the_printed_contender_draws_the_printed_noise_and_the_others_pay_their_epsilon(table):
    whose, epsilon = subject(table), Fraction(1, 5)
    scales = {float(one.noise.scale) for one in planned("printed", table, epsilon).measurements}
    assert all(scale == pytest.approx(subjects.printed_scale(whose) / float(epsilon), rel=1e-6) for scale in scales)
    for contender in ("corrected", "barak", "margrave", "adaptive"):
        cost = planned(contender, table, epsilon).cost.epsilon
        assert cost <= epsilon and float(cost) == pytest.approx(float(epsilon), rel=1e-6)


@pytest.mark.parametrize(("contender", "table"), [("barak", "fungus"), ("barak", "journey"), ("corrected", "journey")])
def test_the_linear_programs_are_what_a_release_with_that_strategy_publishes(contender, table):
    plan = planned(contender, table, Fraction(1))
    published = pipeline.release(plan, seed="s").publication
    assert published is not None
    assert np.array_equal(outcome(contender, table, Fraction(1), "s").table.counts, published.table)


def test_the_adaptive_contender_publishes_what_a_release_with_that_strategy_does():
    plan = planned("adaptive", "czech", Fraction(1))
    assert plan.rounds and plan.spec == replace(subject("czech").spec, strategy="adaptive")
    published = pipeline.release(plan, seed="s").publication
    assert np.array_equal(outcome("adaptive", "czech", Fraction(1), "s").table.counts, published.table)


def test_an_unknown_contender_is_refused():
    with pytest.raises(UsageError, match="contender"):
        planned("nobody", "fungus", Fraction(1))


def test_the_truth_has_no_error_and_an_empty_release_is_uniform():
    whose = subject("czech")
    exact = measure(whose, whose.truth)
    assert (exact.size, exact.largest, exact.l1, exact.l2) == (1841, 0.0, 0.0, 0.0)
    assert exact.g2 == whose.fit.g2
    empty = measure(whose, Table(whose.domain, whose.domain.names, np.zeros(whose.domain.shape(), dtype=np.int64)))
    assert (empty.size, empty.l1) == (0, whose.from_uniform)
    assert empty.largest == 1841


def summary_of(change):
    """A finished study whose rows are ROW, changed by a function of the task."""
    settings = Settings((Fraction(1, 10), Fraction(1, 2), Fraction(1), Fraction(2)), 2)
    return Summary(settings, {task: [{**ROW, **change(task)}] * task.count for task in settings.tasks})


def test_usable_means_from_there_on_at_every_larger_epsilon():
    # Good at 0.1, bad at 0.5, good from 1 on: usable from 1 on. A table that is bad at 2 never is.
    bad = {"fungus": "0.5", "czech": "2"}
    summary = summary_of(lambda task: {"largest": 1e6 if bad.get(task.table) == task.epsilon else 0.0})
    assert summary.usable_from("margins", "fungus", "barak") == 1
    assert summary.usable_from("margins", "czech", "barak") is None
    assert summary.usable_from("margins", "rochdale", "barak") == Fraction(1, 10)


def test_the_page_says_how_many_runs_are_good_around_the_threshold():
    summary = summary_of(lambda task: {"largest": 1e6 if task.epsilon == "0.5" else 0.0})
    rows = {(row[0], row[1]): row[-1] for row in usable_rows(summary)[1]}
    assert rows["Fungus", "MWEM"] == "0 ± 22 % at 0.5, 100 ± 22 % at 1"
    assert rows["Journey to work", "MWEM"] == "0 ± 22 % at 1, 0 ± 22 % at 2"


def test_below_sampling_means_less_error_than_a_sample_of_as_many_records():
    assert [round(subject(table).sampling, -1) for table in TABLES] == [10, 120, 60, 250]
    summary = summary_of(lambda task: {"largest": 59.0 if float(task.epsilon) >= 1 else 61.0})
    found = [summary.below_sampling_from(table, "mwem") for table in TABLES]
    assert found == [None, Fraction(1, 10), Fraction(1), Fraction(1, 10)]


def test_each_criterion_has_its_own_measure():
    summary = summary_of(lambda task: {"p_value": 0.01 if task.epsilon == "1" else 0.5, "l1": 0.7})
    # The model fits fungus and does not fit journey.
    assert summary.holds("verdict", "fungus", "barak", Fraction(1)) == 0
    assert summary.holds("verdict", "journey", "barak", Fraction(1)) == 1
    assert summary.holds("verdict", "journey", "barak", Fraction(2)) == 0
    assert summary_of(lambda task: {"size": 0, "p_value": 0.0}).holds("verdict", "journey", "barak", Fraction(1)) == 0
    assert summary.holds("fit", "fungus", "barak", Fraction(1)) == 0
    assert summary.holds("fit", "rochdale", "barak", Fraction(1)) == 1
    assert summary.holds("margins", "fungus", "barak", Fraction(1)) == 1
    assert summary.holds("all", "fungus", "barak", Fraction(2)) == 0


def test_a_ratio_compares_means():
    summary = summary_of(lambda task: {"largest": 3.0 if task.contender == "margrave" else 12.0})
    assert summary.ratio("fungus", "barak", Fraction(1)) == 0.25
    assert summary.ratio_error("fungus", "barak", Fraction(1)) == 0
    assert summary.worst_ratio("fungus", "printed")[1] == 0.25


def test_the_printed_bound_is_that_of_table_8():
    # 84.5 log(169/0.05) + 169 is 855.6 at ε = 1, and 8.45 log(…) more at each step down.
    assert summary_of(lambda task: {"largest": 855.0}).theorem_3_violated("printed") == 0.25
    assert (
        summary_of(lambda task: {"largest": 856.0 if task.epsilon == "1" else 0.0}).theorem_3_violated("barak") == 0.25
    )
    assert summary_of(lambda task: {"largest": 1e5}).theorem_3_violated("printed") == 1


def test_an_unfinished_study_has_no_summary():
    full = summary_of(lambda task: {})
    some = dict(list(full.done.items())[1:])
    with pytest.raises(UsageError, match="not finished: 1 of"):
        replace(full, done=some)
