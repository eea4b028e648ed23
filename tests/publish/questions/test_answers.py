"""Answers: intervals cover what they say, forecasts are what is measured, and what is kept is read back."""

import json
from fractions import Fraction
from math import sqrt

import numpy as np
import pytest

from margrave.budget.units import ZCDP, PureDP
from margrave.errors import BundleError, UsageError
from margrave.measure.questions.engine import end_losses, quantile_losses
from margrave.noise import Generator
from margrave.noise.selection import permute_and_flip, select
from margrave.planning.questions.data_spec import DataSpec
from margrave.planning.questions.language.text import parsed
from margrave.planning.questions.least import least_budget
from margrave.planning.questions.price.trees import fitted_leaves, prefix_tails, prefix_variances, tree_counts
from margrave.planning.questions.question import PricedQuestion
from margrave.publish.questions.answer_values import AnswerRow
from margrave.publish.questions.answers import AnswerPack, AnswerTable, numbers_of

SPEC = DataSpec.load(
    """
title = "One table"
[tables.people]
[tables.people.columns]
sex = ["f", "m"]
pay = { number = [0, 50], step = 0.5 }
"""
)
BUDGETS = [PureDP(Fraction(1, 2)), ZCDP(Fraction(1, 10))]


def asked(text, budget):
    return PricedQuestion(SPEC, parsed(text, SPEC), budget)


def answers(question, exact, runs, seed):
    """Answers whose noise is drawn as the engine draws it, from exact sums that are known here."""
    noise = question.mechanism.noise.sample(runs * len(exact), Generator.seeded(seed)).reshape(runs, len(exact))
    return [AnswerTable(question, tuple(int(a) + int(z) for a, z in zip(exact, row, strict=True))) for row in noise]


def coverage(found, truths):
    """How many intervals hold the truth, of all."""
    hits = [
        row.low - 1e-9 <= truth <= row.high + 1e-9 for one in found for row, truth in zip(one.rows, truths, strict=True)
    ]
    return sum(hits) / len(hits)


def parts(values, power):
    """The sums that are measured of an average or a variance, in steps."""
    above = np.round(np.asarray(values) * 2).astype(int)
    below = 100 - above
    if power == 1:
        return [int(above.sum()), int(below.sum())]
    return [int((above**2).sum()), int((2 * above * below).sum()), int((below**2).sum())]


@pytest.mark.parametrize("budget", BUDGETS)
def test_counts_and_sums_are_covered_as_stated(budget):
    for text, truth, step in (("people count", 1000, 1), ("people sum pay", 400, 0.5)):
        question = asked(text, budget)
        found = answers(question, [truth], 2_000, f"cover {text} {budget}")
        assert 0.94 <= coverage(found, [truth * step]) <= 0.975
        errors = [one.value - truth * step for one in found]
        assert np.std(errors) == pytest.approx(question.forecast[0].std_error, rel=0.06)
        assert found[0].std_error == pytest.approx(question.forecast[0].std_error)


@pytest.mark.parametrize("budget", [PureDP(Fraction(1, 10)), ZCDP(Fraction(1, 500))])
def test_forecasts_are_what_is_measured_and_intervals_hold_as_often_as_they_say(budget):
    """So many draws that what is left to chance is less than a hundredth: of counts, and of averages by their parts."""
    question, average = asked("people count", budget), asked("people average pay", budget)
    noise = question.mechanism.noise.sample(60_000, Generator.seeded(f"many {budget}")).astype(float)
    assert np.std(noise) == pytest.approx(question.forecast[0].std_error, rel=0.02)
    assert 0.945 <= np.mean(np.abs(noise) <= question.forecast[0].half_width) <= 0.96
    rows, share = 20_000, 0.3
    drawn = average.mechanism.noise.sample(120_000, Generator.seeded(f"parts {budget}")).astype(float).reshape(-1, 2)
    above, below = 100 * rows * share + drawn[:, 0], 100 * rows * (1 - share) + drawn[:, 1]
    errors = 50 * (above / (above + below) - share)
    assert np.sqrt(np.mean(errors**2)) == pytest.approx(average.forecast[0].at(rows, share), rel=0.02)
    one = AnswerTable(average, (round(100 * rows * share), round(100 * rows * (1 - share))))
    assert 0.94 <= np.mean(np.abs(errors) <= (one.high - one.low) / 2) <= 0.96
    with pytest.raises(UsageError, match="number of rows"):
        question.forecast[0].at(5)


@pytest.mark.slow
@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize(("rows", "mean"), [(5, 10), (200, 2), (200, 25), (5_000, 40)])
def test_averages_are_covered_as_stated_however_few_rows_there_are(budget, rows, mean):
    question = asked("people average pay", budget)
    values = np.clip(np.random.default_rng(rows).normal(mean, 8, rows), 0, 50)
    values = np.round(values * 2) / 2
    found = answers(question, parts(values, 1), 1_200, f"average {rows} {mean} {budget}")
    assert 0.937 <= coverage(found, [values.mean()]) <= 0.975


@pytest.mark.slow
def test_the_error_of_an_average_is_that_of_the_formula():
    question = asked("people average pay", PureDP(Fraction(1, 2)))
    rows = 4_000
    for share in (0.1, 0.5, 0.8):
        exact = [round(100 * rows * share), round(100 * rows * (1 - share))]
        found = answers(question, exact, 1_500, f"formula {share}")
        wanted = sqrt(2 * (share**2 + (1 - share) ** 2)) * 50 / (0.5 * rows)
        assert np.sqrt(np.mean([(one.value - 50 * share) ** 2 for one in found])) <= 1.06 * wanted
        assert found[0].std_error == pytest.approx(wanted, rel=0.05)


@pytest.mark.slow
@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("rows", [400, 5_000])
def test_variances_are_covered_as_stated(budget, rows):
    question = asked("people variance pay", budget)
    values = np.round(np.clip(np.random.default_rng(rows).normal(20, 8, rows), 0, 50) * 2) / 2
    found = answers(question, parts(values, 2), 400, f"variance {rows} {budget}")
    assert 0.92 <= coverage(found, [values.var()]) <= 0.98
    assert np.mean([one.rows[0].extra["average"] for one in found]) == pytest.approx(values.mean(), abs=0.5)


def test_where_nothing_is_known_the_interval_is_everything():
    question = asked("people average pay", PureDP(Fraction(1, 100)))
    nothing = AnswerTable(question, (-5, -7))
    assert (nothing.low, nothing.high) == (0, 50) and nothing.std_error is None
    wide = AnswerTable(asked("people variance pay", PureDP(Fraction(1, 100))), (10, 10, 10))
    assert (wide.low, wide.high) == (0, 625)


def test_a_fitted_tree_is_the_least_squares_estimate_with_the_stated_variances():
    branching, levels = 3, 3
    size = branching**levels
    rows = []
    for level in range(1, levels + 1):
        width = size // branching**level
        rows += [np.repeat(np.arange(branching**level) == node, width) for node in range(branching**level)]
    design = np.array(rows, dtype=float)
    inverse = np.linalg.inv(design.T @ design)
    noisy = np.random.default_rng(3).normal(size=len(rows))
    assert fitted_leaves(noisy, branching, levels) == pytest.approx(inverse @ design.T @ noisy)
    for share in (0.0, 0.3):
        sums = np.tril(np.ones((size, size))) - share
        stated = prefix_variances(size, branching, levels, share)
        assert stated == pytest.approx(np.diag(sums @ inverse @ sums.T))
        weights = sums @ inverse @ design.T
        tails = prefix_tails(size, branching, levels, share)
        assert tails == pytest.approx((weights**4).sum(axis=1) / (weights**2).sum(axis=1) ** 2)
    counts = np.arange(20)
    nodes = tree_counts(counts, branching, levels)
    assert nodes.sum() == levels * counts.sum() and len(nodes) == len(rows)


@pytest.mark.slow
@pytest.mark.parametrize("budget", BUDGETS)
def test_distributions_and_their_quantiles_are_covered_as_stated(budget):
    values = np.clip(np.random.default_rng(5).normal(60, 20, 3_000), 0, 100).astype(int)
    counts = np.bincount(values, minlength=101)
    question = asked("people cumulative pay", budget)
    exact = tree_counts(counts, question.mechanism.branching, question.mechanism.levels)
    found = answers(question, exact, 300, f"cumulative {budget}")
    assert 0.93 <= coverage(found, np.cumsum(counts)) <= 0.985
    question = asked("people quantiles(0.1, 0.25, 0.5, 0.75, 0.9) of pay", budget)
    exact = tree_counts(counts, question.mechanism.branching, question.mechanism.levels)
    found = answers(question, exact, 300, f"quantiles {budget}")
    truths = [np.searchsorted(np.cumsum(counts), share * 3_000) / 2 for share in (0.1, 0.25, 0.5, 0.75, 0.9)]
    assert coverage(found, truths) >= 0.93


FINE = DataSpec.load("[tables.people]\n[tables.people.columns]\npay = { number = [0, 1000] }\n")
SHARES = (0.1, 0.3, 0.5, 0.7, 0.9)


def fine(values, budget, runs):
    """Quantiles of whole numbers up to a thousand: the answers, and the exact ones."""
    node = parsed(f"people quantiles({', '.join(map(str, SHARES))}) of pay", FINE)
    question, counts = PricedQuestion(FINE, node, budget), np.bincount(values, minlength=1001)
    exact = tree_counts(counts, question.mechanism.branching, question.mechanism.levels)
    through = np.cumsum(counts)
    truths = [int(np.argmax(through * 10 >= round(share * 10) * through[-1])) for share in SHARES]
    return answers(question, exact, runs, f"fine {budget} {len(values)}"), truths


@pytest.mark.slow
@pytest.mark.parametrize("budget", BUDGETS)
def test_quantiles_over_a_fine_grid_are_covered_as_stated_and_not_more(budget):
    """An interval that held every value that no test of it alone rejects would hold 99 %, and be twice as wide."""
    values = np.clip(np.random.default_rng(3).normal(500, 150, 1_000), 0, 1000).astype(int)
    found, truths = fine(values, budget, 100)
    assert 0.93 <= coverage(found, truths) <= 0.98
    again = [AnswerTable(one.question, one.numbers).rows for one in found[:3]]
    assert again == [one.rows for one in found[:3]]


@pytest.mark.slow
@pytest.mark.parametrize("short", [0, 1])
def test_a_quantile_at_either_end_of_a_gap_is_covered(short):
    """Half of the rows lie below the gap, or one less: the median is where it begins, or where it ends."""
    chance = np.random.default_rng(4)
    values = np.concatenate([chance.integers(0, 300, 1_000 - short), chance.integers(700, 1001, 1_000 + short)])
    found, truths = fine(values, BUDGETS[0], 100)
    assert truths[2] == (min(values[values > 500]) if short else max(values[values < 500]))
    hits = [one.rows[2].low <= truths[2] <= one.rows[2].high for one in found]
    assert np.mean(hits) >= 0.9


@pytest.mark.slow
@pytest.mark.parametrize("steps", [100, 2_000])
def test_many_quantiles_from_a_tree_are_nearer_than_as_many_selections(steps):
    """Nineteen quantiles of ten thousand rows: the error in rank, against selecting each with its share of ε."""
    spec = DataSpec.load(f"[tables.people]\n[tables.people.columns]\npay = {{ number = [0, {steps}] }}\n")
    epsilon, shares = Fraction(1, 10), [Fraction(number, 20) for number in range(1, 20)]
    values = np.clip(np.random.default_rng(7).normal(0.5, 0.15, 10_000) * steps, 0, steps).astype(int)
    counts = np.bincount(values, minlength=steps + 1)
    through = np.cumsum(counts)
    listed = ", ".join(str(float(share)) for share in shares)
    tree = PricedQuestion(spec, parsed(f"people quantiles({listed}) of pay", spec), PureDP(epsilon))
    exact = tree_counts(counts, tree.mechanism.branching, tree.mechanism.levels)

    def off(share):
        """How many rows lie between each candidate and where the share is, none if it is inside the candidate."""
        return np.maximum(0, np.maximum(through - counts - share * 10_000, share * 10_000 - through)).astype(float)

    from_tree = [
        off(share)[int(row.value)]
        for one in answers(tree, exact, 12, "tree")
        for row, share in zip(one.rows, shares, strict=True)
    ]
    separate = []
    for share in shares:
        node = parsed(f"people quantiles({float(share)}) of pay", spec)
        rate = PricedQuestion(spec, node, PureDP(epsilon / 19)).mechanism.rates[0]
        losses = quantile_losses(counts, share).astype(float)
        chances = np.exp(-float(rate) * (losses - losses.min()))
        separate.append(float((chances / chances.sum()) @ off(share)))
    assert np.mean(from_tree) <= 0.3 * np.mean(separate)


@pytest.mark.slow
@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("kind", ["smooth", "few values", "few rows", "one value"])
def test_the_interval_of_a_selected_quantile_holds_it(kind, budget):
    chance, generator = np.random.default_rng(9), Generator.seeded(f"ends {kind} {budget}")
    values = {
        "smooth": np.clip(chance.normal(60, 20, 2_000), 0, 100),
        "few values": chance.choice([3, 40, 90], 2_000),
        "few rows": chance.integers(0, 100, 4),
        "one value": np.full(500, 17),
    }[kind].astype(int)
    counts = np.bincount(values, minlength=101).astype(object)
    through = np.cumsum(counts)
    for share in (Fraction(1, 2), Fraction(9, 10)):
        question = asked(f"people quantiles({float(share)}) of pay interval 0.5", budget)
        mechanism = question.mechanism
        draw = permute_and_flip if mechanism.flips else select
        truth, hits, widths = np.argmax(through >= share * through[-1]) / 2, [], []
        for _ in range(150):
            rate, reach = mechanism.ends[0]
            drawn = [draw(quantile_losses(counts, share), mechanism.rates[0], generator)]
            drawn += [draw(losses, rate, generator) for losses in end_losses(counts, share, reach)]
            found = AnswerTable(question, tuple(drawn))
            hits.append(found.low <= truth <= found.high and found.low <= found.value <= found.high)
            widths.append(found.high - found.low)
        assert np.mean(hits) >= 0.95
        if kind == "smooth":
            assert np.mean(widths) < 25
    with pytest.raises(UsageError, match="have intervals already"):
        asked("people quantiles(0.1, 0.2, 0.3, 0.4, 0.5) of pay interval 0.5", budget)


def test_an_answer_is_read_back_and_a_changed_one_is_refused():
    question = asked("people by sex count", PureDP(Fraction(1)))
    pack = AnswerPack()
    pack.check(question)
    content, identity = pack.write(question, (5, -3), {"id": "x", "entry": 1})
    found = pack.read(content)
    assert found == AnswerTable(question, (5, -3)) and len(identity) == 64
    assert pack.kept(question, pack.keep(question, (5, -3))) == (5, -3)
    assert len(pack.keep(question, (5, -3))) == len(pack.keep(question, (10**12, 1)))
    told = json.loads(content)
    for wrong in (b"", b"[]", b"{}", json.dumps(told | {"numbers": ["1"]}).encode(), content[:-1]):
        with pytest.raises(BundleError):
            pack.read(wrong)
    with pytest.raises(UsageError):
        AnswerTable(question, (1,))


def test_an_answer_says_its_values():
    question = asked("people by sex count", PureDP(Fraction(1)))
    found = AnswerTable(question, (50, 3)).with_left("ε = 1 left")
    assert [row.value for row in found.rows] == [50, 3] and numbers_of(question) == 2
    assert list(found.to_pandas().columns) == ["sex", "value", "std_error", "low", "high"]
    assert "sex f: 50" in repr(found) and "ε = 1 left" in repr(found)
    assert "<table>" in found._repr_html_()
    with pytest.raises(UsageError, match="2 values"):
        found.value  # noqa: B018


@pytest.mark.parametrize("unit", [PureDP, ZCDP])
def test_the_least_budget_is_enough_and_a_little_less_is_not(unit):
    for text, within, rows in (
        ("people count", 5, None),
        ("people average pay", 1, 500),
        ("people median pay", 40, None),
    ):
        node = parsed(text, SPEC)
        found = least_budget(SPEC, node, within, rows=rows or None, unit=unit)
        number = found.epsilon if isinstance(found, PureDP) else found.rho

        def reached(budget, node=node, rows=rows):
            return PricedQuestion(SPEC, node, budget).forecast[0].half_width / (rows or 1)

        assert reached(found) <= within < reached(unit(number * Fraction(99, 100)))
    with pytest.raises(UsageError, match="rows"):
        least_budget(SPEC, parsed("people average pay", SPEC), 1)


def test_a_key_with_the_name_of_a_number_does_not_hide_it():
    row = AnswerRow({"value": "north", "group_value": "x", "rows": "y"}, 3, 1.0, 1, 5, {"rows": 7})
    assert row.as_dict() == {
        "group_value": "north", "group_group_value": "x", "group_rows": "y",
        "value": 3, "std_error": 1.0, "low": 1, "high": 5, "rows": 7,
    }  # fmt: skip


def test_names_of_groups_are_never_rounded():
    spec = DataSpec.load("[tables.t]\n[tables.t.columns]\nx = { number = [0, 0.2], step = 0.1 }\n")
    for text, names in (
        ("t by x count", [0, 0.1, 0.2]),
        ("t by y = (x * number('1/3')) count", [0, "1/30", "1/15"]),
    ):
        question = PricedQuestion(spec, parsed(text, spec), PureDP(Fraction(1)))
        found = AnswerTable(question, (1, 2, 3))
        assert [row.keys[question.sought.axes[0].name] for row in found.rows] == names
