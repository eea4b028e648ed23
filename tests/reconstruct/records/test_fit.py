"""Records fitted to noisy margins: right on small tables, always possible, repeatable, and never fitted to noise."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from margrave.errors import RefusedError
from margrave.noise import Generator
from margrave.reconstruct.nonnegative.choice import nonnegative
from margrave.reconstruct.nonnegative.least_squares import least_squares
from margrave.reconstruct.records import fit
from margrave.reconstruct.records.fit import fit_records
from margrave.reconstruct.records.start import first_records
from margrave.reconstruct.records.variables import Variables, variables
from margrave.reconstruct.records.zeros import zeros
from margrave.spec.spec import Spec
from tests.reconstruct.records.cases import free, misfit_of, problem, sampler_of, table_of
from tests.shapes import domain_of

pytestmark = pytest.mark.slow


def fitted(case, **options):
    return fit_records(case.estimates, case.wanted, case.found, case.zeros, seed="test", **options)


def error(case, table):
    return np.mean([np.abs(table(margin) - table_of(case.domain, case.truth, margin)).sum() for margin in case.wanted])


@settings(deadline=None, max_examples=20)
@given(
    st.lists(st.integers(1, 4), min_size=2, max_size=4), st.integers(1, 30), st.integers(0, 10), st.floats(0.01, 3.0)
)
def test_a_sweep_knows_how_the_misfit_changes(shape, count, seed, temperature):
    case = problem(shape, 40, 2.0, seed, ways=2)
    misfit, _, sampler = sampler_of(case, count, seed)
    before = misfit_of(case, sampler.codes)
    assert np.isclose(before, 0.5 * (misfit.misfits(sampler.counts()) / misfit.variances).sum())
    _, gained = sampler.sweep(misfit.pulls, temperature)
    assert np.isclose(misfit_of(case, sampler.codes) - before, gained, atol=1e-6 * (1 + before))


@settings(deadline=None, max_examples=15)
@given(st.lists(st.integers(2, 4), min_size=2, max_size=4), st.integers(1, 60), st.integers(0, 10))
def test_freezing_never_raises_the_misfit_and_ends_where_no_change_helps(shape, count, seed):
    case = problem(shape, 50, 3.0, seed)
    misfit, _, sampler = sampler_of(case, count, seed)
    aim = sampler_of(case, count, seed + 1)[2].counts()
    path = sampler.freeze(aim)
    assert (np.diff(path) <= 1e-9).all()
    left = 0.5 * (misfit.tables.squares(sampler.counts() - aim) / misfit.variances).sum()
    assert np.isclose(path[-1], left, atol=1e-6)


def test_counts_are_those_of_the_records():
    case = problem((3, 4, 2), 50, 1.0, 3, ways=3)
    misfit, _, sampler = sampler_of(case, 70)
    counts = sampler.counts()
    for index, margin in enumerate(misfit.tables.margins):
        expected = table_of(case.domain, sampler.codes, margin)
        assert np.array_equal(misfit.tables.part(counts, index), expected.ravel())


PATTERNS = st.lists(
    st.dictionaries(st.sampled_from("abc"), st.frozensets(st.sampled_from("012"), min_size=1), min_size=1, max_size=3),
    max_size=3,
)


@settings(deadline=None, max_examples=15)
@given(PATTERNS, st.integers(0, 5))
def test_every_record_is_possible_and_the_total_is_kept(patterns, seed):
    domain = domain_of(3, 3, 3)
    possible = np.ones((3, 3, 3), dtype=bool)
    for pattern in patterns:
        chosen = [[int(v) for v in sorted(pattern.get(name, "012"))] for name in domain.names]
        possible[np.ix_(*chosen)] = False
    if not possible.any():
        with pytest.raises(RefusedError, match="structural zeros"):
            first_records([np.full(3, 1 / 3)] * 3, 5, zeros(free(domain), patterns, domain), Generator.seeded(1))
        return
    case = problem((3, 3, 3), 60, 4.0, seed, patterns)
    found = fitted(case)
    assert len(found.codes) == round(case.estimates.total) == len(case.truth)
    assert possible[tuple(found.codes.T)].all()
    assert (found.codes < 3).all()


def test_determined_attributes_follow_and_may_change_together():
    spec = Spec.load(
        """
        [attributes]
        county = { values = ["n1", "n2", "s1"], determines = { region = { n1 = "N", n2 = "N", s1 = "S" } } }
        region = { values = ["N", "S"], determines = { cold = { N = "yes", S = "no" } } }
        cold = ["no", "yes"]
        smoke = ["no", "yes"]
        [release]
        all = 2
        impossible = [{ region = "S", smoke = "yes" }]
        [privacy]
        epsilon = 1.0
        """
    )
    found = variables(spec.domain, spec.codebook)
    assert found.names == ("county", "smoke")
    forbidden = zeros(found, spec.structural_zeros, spec.domain)
    assert len(forbidden.slots) - 1 == 1
    codes = first_records([np.array([0.2, 0.3, 0.5]), np.array([0.5, 0.5])], 500, forbidden, Generator.seeded(1))
    records = found.attributes(codes)
    assert np.array_equal(records[:, 1], records[:, 0] == 2) and np.array_equal(records[:, 2], records[:, 1] == 0)
    assert not ((records[:, 1] == 1) & (records[:, 3] == 1)).any()
    assert ((records[:, 1] == 0) & (records[:, 3] == 1)).any()


def test_a_sweep_of_determined_attributes_knows_how_the_misfit_changes():
    domain = domain_of(4, 2, 3)
    # The second attribute is a function of the first, so that its cells are not equally far from each other.
    found = Variables(
        domain,
        ("a", "c"),
        {"a": 0, "b": 0, "c": 1},
        {"a": np.arange(4), "b": np.array([0, 1, 1, 0]), "c": np.arange(3)},
    )
    case = problem((4, 2, 3), 60, 2.0, 1, ways=2)
    case.found, case.zeros = found, zeros(found, (), domain)
    for seed in range(5):
        misfit, _, sampler = sampler_of(case, 40, seed)
        before = misfit_of(case, found.attributes(sampler.codes))
        _, gained = sampler.sweep(misfit.pulls, 0.3)
        after = misfit_of(case, found.attributes(sampler.codes))
        assert gained != 0 and np.isclose(after - before, gained, atol=1e-6 * (1 + before))


def test_cold_records_reach_the_dense_optimum():
    case = problem((3, 4, 3), 400, 6.0, 5)
    best = least_squares(case.estimates)
    misfit, _, sampler = sampler_of(case, len(case.truth))
    for temperature in 2.0 ** -np.arange(12):
        sampler.sweep(misfit.pulls, temperature)
    for _ in range(20):
        sampler.sweep(misfit.pulls, 0.0)
    reached = misfit_of(case, sampler.codes)
    assert best.misfit - best.gap <= reached <= best.misfit + 0.1


@pytest.mark.parametrize(("shape", "deviation"), [((2,) * 8, 3.0), ((3, 4, 3, 2), 12.0), ((5, 5, 5), 30.0)])
def test_as_right_as_the_dense_method(shape, deviation):
    ours, dense = [], []
    for seed in range(4):
        case = problem(shape, 1500, deviation, seed)
        found = fitted(case)
        ours.append(error(case, lambda margin, case=case, found=found: table_of(case.domain, found.codes, margin)))
        table = nonnegative(case.estimates, "auto", wanted=case.wanted).table
        axes = {m: tuple(a for a, n in enumerate(case.domain.names) if n not in m) for m in case.wanted}
        dense.append(error(case, lambda margin, table=table, axes=axes: table.sum(axis=axes[margin])))
    assert np.mean(ours) <= 1.1 * np.mean(dense)


def test_noise_alone_is_not_fitted():
    case = problem((6, 6, 6, 6), 300, 60.0, 2)
    found = fitted(case)
    # χ² of records that follow the noise would be near zero; of records that ignore it, near one.
    assert 0.7 < np.mean(list(found.misfits().values())) < 1.2
    assert "median" in found.summary()


def test_the_same_answers_give_the_same_records_and_others_do_not():
    one, again, other = (fitted(problem((3, 4, 3), 200, 5.0, seed)) for seed in (1, 1, 2))
    assert np.array_equal(one.codes, again.codes) and one.temperature == again.temperature
    assert one.codes.shape != other.codes.shape or not np.array_equal(one.codes, other.codes)


def test_an_interruption_keeps_the_best_so_far(monkeypatch):
    case = problem((3, 4, 3), 200, 5.0, 1)
    told, reports, held = [5.0, 1.0, 9.0], [], []
    monkeypatch.setattr(fit.Judge, "error", lambda *_: told[len(reports)])

    class Watched(fit.Search):
        def __init__(self, *given):
            super().__init__(*given)
            held.append(self)

    def stop(done, total, misfit):
        reports.append(held[-1].sampler.codes.copy())
        if len(reports) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(fit, "Search", Watched)
    found = fitted(case, keep=True, progress=stop)
    assert not found.finished and found.temperature == 0.25
    assert np.array_equal(found.codes, reports[1]) and not np.array_equal(found.codes, reports[2])
    reports.clear()
    with pytest.raises(KeyboardInterrupt):
        fitted(case, progress=stop)


def test_nothing_to_count_and_one_record():
    for count in (0, 1):
        case = problem((2, 3), count, 1.0, 1)
        assert len(fitted(case).codes) == count


def test_a_known_temperature_is_held():
    case = problem((3, 4, 3), 200, 5.0, 1)
    assert fitted(case, temperature=0.25).temperature == 0.25
