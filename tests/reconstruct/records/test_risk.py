"""The estimated error of records: right in the mean, and right enough to choose a temperature by."""

import numpy as np
import pytest

from margrave.planning.limits import sweeps
from margrave.reconstruct.records import fit
from margrave.reconstruct.records.energy import energy
from margrave.reconstruct.records.layout import tables
from margrave.reconstruct.records.risk import judge, known_noise
from tests.reconstruct.records.cases import problem, table_of

pytestmark = pytest.mark.slow


def misfit_of(case):
    return energy(case.estimates, tables(case.found, [margin for margin in case.estimates.values if margin]))


def true_counts(case, misfit):
    return np.concatenate([table_of(case.domain, case.truth, margin).ravel() for margin in misfit.tables.margins])


def test_the_known_noise_is_a_residual_as_long_as_noise_is():
    case = problem((3, 4, 2), 50, 2.0, 1, ways=3)
    misfit = misfit_of(case)
    noise = known_noise(misfit, "seed")
    assert np.allclose(misfit.tables.centred(noise), noise)
    assert np.allclose(misfit.tables.squares(noise), misfit.variances * misfit.freedoms)
    assert not np.allclose(noise, known_noise(misfit, "another"))


def test_a_shrunken_estimate_is_judged_as_wrong_as_it_is():
    # R̄ = c R̂ follows the noise by the share c, whatever the truth.
    estimated, true = [], []
    for seed in range(40):
        case = problem((4, 5, 4), 300, 8.0, seed)
        misfit = misfit_of(case)
        noise, share = known_noise(misfit, str(seed)), 0.6
        mean = share * misfit.targets
        followed = misfit.tables.sums(noise * share * noise)
        squares = misfit.misfits(mean) - misfit.variances * misfit.freedoms + 2 * followed
        estimated.append(squares.sum())
        true.append(misfit.tables.squares(mean - true_counts(case, misfit)).sum())
    assert abs(np.mean(estimated) / np.mean(true) - 1) < 0.05


def seen_while_cooling(case, monkeypatch, states):
    """The estimated and the true error at each temperature of a search that is never told to stop."""
    monkeypatch.setattr(fit, "sweeps", lambda limits, budget, reads: min(states, sweeps(limits, budget, reads)))
    misfit = misfit_of(case)
    jury, truth = judge(misfit, case.domain, case.wanted), true_counts(case, misfit)
    estimated, true = [], []

    class Watched:
        def __getattr__(self, name):
            return getattr(jury, name)

        def error(self, mean, followed):
            estimated.append(jury.error(mean, followed))
            true.append(float(np.sqrt(jury.cells * (jury.sums @ misfit.tables.squares(mean - truth))).mean()))
            return -len(true)  # always better than before

    monkeypatch.setattr(fit, "judge", lambda *_: Watched())
    monkeypatch.setattr(fit, "COLDEST", 2.0**-10)
    fit.fit_records(case.estimates, case.wanted, case.found, case.zeros, seed="test")
    return np.array(estimated), np.array(true)


def test_few_states_of_records_that_hardly_move_are_not_taken_for_a_good_fit(monkeypatch):
    case = problem((8, 8, 8, 8), 3000, 40.0, 3, ways=3)
    estimated, true = seen_while_cooling(case, monkeypatch, states=2)
    assert true[-1] > 1.1 * true.min()
    assert true[np.argmin(estimated)] <= 1.1 * true.min()
    assert (np.sign(np.diff(estimated)) == np.sign(np.diff(true))).all()


def test_errors_that_stand_out_of_noise_are_estimated_as_large_as_they_are():
    for seed in range(5):
        case = problem((4, 5, 4), 3000, 8.0, seed)
        misfit = misfit_of(case)
        jury, mean = judge(misfit, case.domain, case.wanted), np.zeros(misfit.tables.size)
        off = jury.sums @ misfit.tables.squares(mean - true_counts(case, misfit))
        assert abs(jury.error(mean, np.zeros(len(misfit.variances))) / np.sqrt(jury.cells * off).mean() - 1) < 0.1


def test_a_lower_error_is_estimated_lower_where_noise_makes_every_estimate_negative():
    case = problem((4, 5, 4), 300, 8.0, 1)
    misfit = misfit_of(case)
    jury, truth = judge(misfit, case.domain, case.wanted), true_counts(case, misfit)
    step = misfit.tables.centred(np.random.default_rng(1).normal(0, 1.0, misfit.tables.size))
    lucky = -misfit.variances * misfit.freedoms
    estimates = [jury.error(truth + by * step, lucky) for by in (0.5, 1.0, 1.5)]
    assert all(one < 0 for one in estimates) and estimates == sorted(estimates)


def test_an_estimate_below_zero_is_bettered_by_any_that_is_lower():
    states = [fit._State(None, np.zeros(0), 1.0, error) for error in (np.inf, 1.0, -1.0)]
    assert [one.enough for one in states] == [np.inf, 1.0 - fit._BETTER, -1.0]


@pytest.mark.parametrize(
    ("estimates", "temperature"),
    [
        # Two that are no better, and one that is; then one clearly worse, and the one half way, which is better.
        ([5.0, 4.99, 5.01, 4.0, 4.5, 3.0, 1.0], 2.0**-7),
        # Half way it is not better, and three that are no better end the search as well.
        ([5.0, 4.0, 4.01, 4.0, 3.99, 3.95, 1.0], 2.0**-2),
    ],
)
def test_the_search_ends_where_it_is_clearly_worse_or_no_better_for_long(monkeypatch, estimates, temperature):
    told = iter(estimates)
    monkeypatch.setattr(fit.Judge, "error", lambda *_: next(told))
    case = problem((3, 3), 100, 4.0, 1)
    found = fit.fit_records(case.estimates, case.wanted, case.found, case.zeros, seed="test")
    assert found.temperature == temperature and next(told) == 1.0


def test_records_that_move_against_a_noise_of_next_to_nothing_have_an_estimate_all_the_same():
    case = problem((4, 5, 4), 300, 1e-6, 1)
    misfit = misfit_of(case)
    jury, truth = judge(misfit, case.domain, case.wanted), true_counts(case, misfit)
    against = [-(10.0 ** (power / 7)) * np.arange(1, len(misfit.variances) + 1) for power in range(70)]
    estimates = np.array([jury.error(truth, followed) for followed in against])
    assert np.isfinite(estimates).all() and (estimates <= 0).all()
