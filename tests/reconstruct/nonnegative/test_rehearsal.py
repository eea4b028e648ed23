"""Two estimators are tried on noisy estimates of the tables that they gave themselves."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import margrave as mg
from margrave.algebra.residual import residuals
from margrave.budget.units import ZCDP
from margrave.reconstruct.nonnegative.choice import nonnegative
from margrave.reconstruct.nonnegative.rehearsal import regrets
from margrave.spec.spec import Spec
from tests.reconstruct.cases import domain_of, noisy


def pairs_of(domain):
    return [(one, two) for at, one in enumerate(domain.names) for two in domain.names[at + 1 :]]


def test_what_is_rehearsed_are_estimates_of_the_tables_with_the_noise_of_the_answers():
    domain = domain_of(3, 4)
    tables = (np.arange(12.0).reshape(3, 4), np.full((3, 4), 5.0))
    estimates = noisy(domain, tables[0], [domain.names], variance=9.0, exact=[()])
    seen = []

    def watching(every):
        seen.append(every)
        return [np.zeros((3, 4))] * len(every)

    assert regrets(estimates, [domain.names], tables, (watching, watching)) == (0.0, 0.0)
    each = len(seen[0]) // 2
    for number, table in enumerate(tables):
        mine = seen[0][number * each : (number + 1) * each]
        for margin, truth in residuals(domain, domain.names, table).items():
            drawn = np.array([one.values[margin] for one in mine])
            np.testing.assert_allclose(drawn.mean(axis=0), truth, atol=1e-9)
            square = ((drawn - truth) ** 2).mean() * truth.size
            freedom = np.prod([domain[name].size - 1 for name in margin])
            assert 0.3 <= square / (freedom * estimates.variances[margin]) <= 2.5 if margin else square == 0
            assert mine[0].variances == estimates.variances


def test_regret_is_what_the_other_estimator_would_have_saved_with_the_worse_truth():
    domain = domain_of(2, 3)
    tables = (np.full((2, 3), 10.0), np.full((2, 3), 20.0))
    estimates = noisy(domain, tables[0], [domain.names])

    def off(by_first, by_second):
        def refit(every):
            half = len(every) // 2
            return [tables[0] + by_first] * half + [tables[1] - by_second] * half

        return refit

    one, two = regrets(estimates, [domain.names, ("a0",)], tables, (off(1, 3), off(2, 2)))
    assert one == pytest.approx(0.5) and two == pytest.approx(1.0)


@pytest.mark.slow
def test_empty_cells_that_a_posterior_mean_cannot_give_decide_against_it():
    """A third of the cells of Journey's tables are empty; the posterior mean has a fifth more error there."""
    spec = replace(Spec.load(mg.examples.path("journey")), budget=ZCDP(Fraction(1, 10)))
    plan = mg.plan(spec)
    for seed in range(3):
        published = mg.release(plan, seed=seed).publication
        assert published.method != "log-linear" and any("rehearsals" in note for note in published.notes)


@pytest.mark.slow
def test_few_records_without_empty_tables_are_a_posterior_mean():
    domain = domain_of(2, 2, 2, 2)
    truth = np.random.default_rng(4).multinomial(70, np.full(16, 1 / 16)).reshape(domain.shape())
    wanted = pairs_of(domain)
    chosen = [nonnegative(noisy(domain, truth, wanted, variance=200.0, seed=seed), wanted=wanted) for seed in range(6)]
    assert {one.method for one in chosen} == {"log-linear"}
