"""Every method: feasible, deterministic, and better than chance where that can be said."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import margrave as mg
from margrave.algebra.residual import residuals
from margrave.budget.units import PureDP
from margrave.errors import UsageError
from margrave.planning.limits import FULL_CELLS
from margrave.planning.publication.methods import METHODS, Chosen
from margrave.reconstruct.estimates import Estimates
from margrave.reconstruct.nonnegative import choice as module
from margrave.reconstruct.nonnegative.choice import nonnegative, solved_together
from margrave.reconstruct.nonnegative.entropy import entropy
from margrave.reconstruct.nonnegative.log_linear import log_linear, log_linears
from margrave.reconstruct.nonnegative.sparse import sparse
from margrave.reconstruct.stein import noise, probes, risk_of
from tests.reconstruct.cases import domain_of, masks, noisy, problems, project

pytestmark = pytest.mark.slow


@given(problems(), st.data())
@settings(max_examples=15)
def test_auto_is_feasible_and_repeatable(problem, data):
    domain, _, margins, estimates = problem
    mask = data.draw(masks(domain))
    first = nonnegative(estimates, wanted=margins, possible=mask)
    assert first.method != "auto"
    assert np.isfinite(first.table).all()
    assert (first.table >= 0).all()
    assert (first.table[~mask] == 0).all()
    assert np.array_equal(first.table, nonnegative(estimates, wanted=margins, possible=mask).table)


def skewed(domain, records, seed=0):
    random = np.random.default_rng(seed)
    return random.multinomial(records, random.dirichlet(np.full(domain.cells(), 0.1))).reshape(domain.shape())


@pytest.mark.parametrize("method", [method for method in METHODS if method != "sparse"])
def test_named_methods_on_measured_margins(method):
    domain = domain_of(2, 3, 2, 2)
    truth = skewed(domain, 400)
    wanted = [("a0", "a1"), ("a1", "a2", "a3")]
    estimates = noisy(domain, truth, wanted, variance=9.0)
    found = nonnegative(estimates, method, wanted=wanted)
    assert found.method == method
    assert (found.table >= 0).all()
    assert (found.gap is not None) == (method == "least-squares")
    limit = 6 * np.sqrt(sum(noise(estimates, margin) for margin in wanted))
    if method != "simple":
        assert np.sqrt(sum(np.sum(project(domain, found.table - truth, m) ** 2) for m in wanted)) < limit


@pytest.mark.parametrize("method", ["log-linear", "sparse", "entropy", "least-squares"])
def test_an_exact_total_is_kept(method):
    domain = domain_of(3, 4)
    truth = skewed(domain, 300)
    estimates = noisy(domain, truth, [domain.names], variance=20.0, exact=[()])
    found = nonnegative(estimates, method, wanted=[domain.names])
    assert found.table.sum() == pytest.approx(300)
    assert nonnegative(estimates, wanted=[domain.names]).table.sum() == pytest.approx(300)


def test_auto_chooses_by_what_was_measured():
    domain = domain_of(2, 2, 3)
    truth = skewed(domain, 200)
    assert nonnegative(noisy(domain, truth, [("a0", "a1"), ("a2",)]), wanted=[("a0", "a1")]).method == "log-linear"
    whole_table = nonnegative(noisy(domain, truth, [domain.names]), wanted=[domain.names])
    assert whole_table.method in ("sparse", "sparse, trimmed", "least-squares")
    facts = noisy(domain, truth, [("a0", "a1"), ("a2",)], exact=[(), ("a0",)])
    assert nonnegative(facts, wanted=[("a0", "a1")]).method == "least-squares"
    wide = domain_of(*[2] * 14)
    pairs = [("a0", "a1"), ("a2", "a3"), ("a4", "a13")]
    found = nonnegative(noisy(wide, skewed(wide, 5000), [*pairs, *((n,) for n in wide.names)]), wanted=pairs)
    assert found.method.startswith("entropy")


def test_empty_cells_are_found():
    """Where most cells are empty, the sparse table is far nearer to the truth than the projection."""
    domain = domain_of(20, 20)
    random = np.random.default_rng(5)
    truth = np.where(random.random(domain.shape()) < 0.1, random.geometric(0.02, domain.shape()), 0)
    errors = {"sparse": 0.0, "least-squares": 0.0}
    for seed in range(5):
        estimates = noisy(domain, truth, [domain.names], variance=2.0, seed=seed)
        for method in errors:
            errors[method] += np.abs(nonnegative(estimates, method).table - truth).sum()
    assert errors["sparse"] < 0.7 * errors["least-squares"]
    assert nonnegative(estimates, wanted=[domain.names]).method.startswith("sparse")


def test_a_huge_nearly_empty_table_is_not_biased_upwards():
    """Clipping ten thousand noisy cells would add far more to the wanted tables than their own noise."""
    domain = domain_of(10, 10, 10, 10)
    random = np.random.default_rng(6)
    truth = np.zeros(domain.cells(), dtype=int)
    np.add.at(truth, (random.beta(0.5, 2.0, 5000) * domain.cells()).astype(int), 1)
    truth = truth.reshape(domain.shape())
    counts = truth + np.rint(random.laplace(size=truth.shape))
    values = residuals(domain, domain.names, counts)
    variances = {margin: 2.0 * domain.cells() / domain.cells(margin) for margin in values}
    wanted = [("a0", "a1"), ("a1", "a2"), ("a2", "a3")]
    estimates = Estimates(domain, values, variances)
    errors = {
        method: sum(
            np.sum(project(domain, nonnegative(estimates, method, wanted=wanted).table - truth, margin) ** 2)
            for margin in wanted
        )
        for method in ("auto", "least-squares")
    }
    assert errors["auto"] < sum(noise(estimates, margin) for margin in wanted)
    assert errors["auto"] < errors["least-squares"]


def test_sparse_with_uneven_variances_joins_cells_and_margins():
    domain = domain_of(6, 8)
    truth = skewed(domain, 2000)
    estimates = noisy(domain, truth, [domain.names], variance=3.0)
    table = sparse(estimates)
    assert (table >= 0).all()
    assert np.abs(table - truth).sum() < 2 * np.sqrt(noise(estimates, domain.names) * domain.cells())


def test_log_linear_shrinks_noise_that_independence_explains():
    domain = domain_of(2, 2, 2, 2, 2)
    truth = np.full(domain.shape(), 6.0)
    margins = [domain.names[:3], domain.names[2:]]
    errors = np.zeros(2)
    for seed in range(4):
        estimates = noisy(domain, truth, margins, variance=60.0, seed=seed)
        tables = log_linear(estimates)[0], nonnegative(estimates, "least-squares").table
        errors += [sum(np.abs(project(domain, table - truth, m)).sum() for m in margins) for table in tables]
    assert errors[0] < 0.8 * errors[1]


def test_chains_side_by_side_find_what_each_finds_alone():
    """Up to what a chain is uncertain of itself: sums in another order may turn a step another way."""
    domain = domain_of(2, 3, 2)
    possible = np.ones(domain.shape(), dtype=bool)
    possible[0, 0, 0] = False
    truth = skewed(domain, 900) * possible
    margins = [domain.names[:2], domain.names[1:]]
    every = [noisy(domain, truth, margins, variance=20.0, seed=seed) for seed in range(3)]
    tables, accepted = log_linears(every, possible)
    for one, table, moves in zip(every, tables, accepted, strict=True):
        alone, share = log_linear(one, possible)
        assert np.abs(table - alone).max() < 1.5 and abs(moves - share) < 0.25
        assert not table[0, 0, 0]
    assert np.abs(tables[0] - tables[1]).max() > 3


def test_chains_that_stop_together_are_tried_one_by_one(monkeypatch):
    domain = domain_of(2, 2, 3)
    truth = skewed(domain, 200)
    wanted = [("a0", "a1")]
    every = [noisy(domain, truth, [("a0", "a1"), ("a2",)], seed=seed) for seed in range(2)]
    choice = Chosen("log-linear", ("least-squares",))
    monkeypatch.setattr(module.posterior, "log_linears", fail)
    assert {one.method for one in solved_together(every, choice, wanted=wanted)} == {"least-squares"}


def test_entropy_has_less_error_than_unbiased_tables_and_says_so():
    domain = domain_of(*[2] * 9)
    truth = skewed(domain, 4000)
    wanted = [(a, b) for i, a in enumerate(domain.names) for b in domain.names[i + 1 :]]
    estimates = noisy(domain, truth, wanted, variance=400.0)
    found = entropy(estimates, wanted)
    error = sum(np.sum(project(domain, found.table - truth, margin) ** 2) for margin in wanted)
    unbiased = sum(noise(estimates, margin) for margin in wanted)
    assert error < unbiased
    assert found.risk < unbiased
    assert found.table.sum() == pytest.approx(estimates.total)


def test_the_risk_of_the_projection_is_unbiased():
    domain = domain_of(4, 5)
    truth = skewed(domain, 60)
    wanted = [("a0",), domain.names]

    def method(estimates):
        return nonnegative(estimates, "least-squares").table

    found, true = [], []
    for seed in range(60):
        estimates = noisy(domain, truth, [domain.names], variance=2.0, seed=seed)
        tried = probes(estimates, wanted)
        found.append(risk_of(tried, [method(one) for one in (estimates, *(probe.moved for probe in tried))]))
        true.append(sum(np.sum(project(domain, method(estimates) - truth, margin) ** 2) for margin in wanted))
    difference = np.array(found) - np.array(true)
    assert abs(difference.mean()) < 3.5 * difference.std() / np.sqrt(len(difference))


def test_wrong_calls_are_refused():
    domain = domain_of(2, 2)
    estimates = noisy(domain, np.ones(domain.shape()), [("a0",)])
    for method, text in [("least-square", "did you mean"), ("sparse", "every residual"), ("entropy", "wanted")]:
        with pytest.raises(UsageError, match=text):
            nonnegative(estimates, method)
    for mask in (np.zeros((2, 2)), np.ones(4)):
        with pytest.raises(UsageError, match="possible"):
            nonnegative(estimates, possible=mask)
    with pytest.raises(UsageError, match="simple"):
        nonnegative(estimates, "simple", possible=np.array([[True, False], [True, True]]))
    large = noisy(domain_of(*[10] * 2), np.ones((10, 10)), [()])
    object.__setattr__(large, "domain", domain_of(*[10] * 8))
    with pytest.raises(UsageError, match=str(FULL_CELLS)):
        nonnegative(large)


@pytest.mark.parametrize("strategy", ["auto", "base"])
@pytest.mark.parametrize("epsilon", [25, 30, 500])
def test_hardly_any_noise_leaves_hardly_any_error(strategy, epsilon):
    """No method is trusted with variances of 1e-10 or 1e-217: chains get lost, squares overflow."""
    spec = mg.Spec.load(mg.examples.path("czech"))
    plan = mg.plan(replace(spec, strategy=strategy, budget=PureDP(Fraction(epsilon))))
    out, exact = mg.release(plan, seed=1), mg.count(spec)
    for margin in spec.margins:
        assert np.abs(out.published(margin) - exact.table(margin).counts).max() <= 1


def test_a_chain_that_gets_lost_is_not_trusted(monkeypatch):
    domain = domain_of(2, 2, 3)
    truth = skewed(domain, 200)
    estimates = noisy(domain, truth, [("a0", "a1"), ("a2",)])
    monkeypatch.setattr(module.posterior, "log_linear", fail)
    for table in (np.full(domain.shape(), 1e6), truth * np.nan, None):

        def lost(every, *_, table=table):
            if table is None:
                fail()
            return [table] * len(every), [0.9] * len(every)

        monkeypatch.setattr(module.posterior, "log_linears", lost)
        assert nonnegative(estimates, wanted=[("a0", "a1")]).method in ("entropy", "entropy, shrunk", "least-squares")


def fail(*_):
    raise np.linalg.LinAlgError
