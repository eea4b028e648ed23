"""How far published counts are off, told by known noise: of tables of which the truth is known."""

import numpy as np
import pandas as pd
import pytest

import margrave as mg
from margrave.algebra.domain import Domain
from margrave.algebra.residual import centre, margin_from, residuals
from margrave.reconstruct.estimates import Estimates
from margrave.reconstruct.records.layout import tables
from margrave.reconstruct.records.spread import _by_size, is_predicted, spread_at, spreads
from margrave.reconstruct.records.variables import variables
from margrave.spec.spec import Spec

SIZES = {"a": 40, "b": 50}
PAIR = ("a", "b")


def drawn(random, variance, shape):
    noise = random.normal(0, variance**0.5, shape)
    for axis in range(len(shape)):
        noise = centre(noise, axis)
    return noise


def situation(seed, weight, bias):
    """Published counts that follow the noise by a weight, and lean on a model that is off by the bias."""
    random = np.random.default_rng(seed)
    spec = Spec.load(
        {
            "attributes": {name: {"range": [0, size - 1]} for name, size in SIZES.items()},
            "release": {"tables": [list(PAIR)]},
            "privacy": {"rho": "0.1"},
        }
    )
    domain: Domain = spec.domain
    truth = random.gamma(0.5, 200, (40, 50))
    model = np.maximum(truth + random.normal(0, bias, truth.shape), 0)
    margins = (("a",), ("b",), PAIR)
    true = residuals(domain, PAIR, truth)
    variances = {(): 1e-9, ("a",): 30.0, ("b",): 20.0, PAIR: 100.0}
    noise = {margin: drawn(random, variances[margin], true[margin].shape) for margin in margins}
    known = {margin: drawn(random, variances[margin], true[margin].shape) for margin in margins}
    estimates = Estimates(domain, {margin: true[margin] + noise.get(margin, 0) for margin in true}, variances)
    laid = tables(variables(domain, spec.codebook), margins)

    def flat(values):
        return np.concatenate([np.ravel(values[margin]) for margin in laid.margins])

    def table(values):
        return np.asarray(margin_from(domain, PAIR, {(): np.zeros(()), **values}))

    def sums(one):
        return {("a",): one.sum(axis=1), ("b",): one.sum(axis=0), PAIR: one}

    unbiased = truth + table(noise)
    published = model + weight * (unbiased - model)
    found = spreads(estimates, [PAIR], laid, flat(sums(published)), flat(sums(weight * table(known))), flat(known))
    sigma = np.std(table(noise))
    return found, published.ravel() / sigma, (published - truth).ravel() / sigma


@pytest.mark.parametrize(("weight", "bias"), [(1.0, 0.0), (0.5, 3.0), (0.2, 8.0)])
def test_the_error_that_is_told_is_about_the_true_one_and_rather_more(weight, bias):
    for seed in range(3):
        found, sizes, errors = situation(seed, weight, bias)
        told, true = np.sqrt(np.mean(spread_at(found, sizes) ** 2)), np.sqrt(np.mean(errors**2))
        assert 0.9 * true < told < 1.6 * true


def test_a_model_that_is_off_shows():
    right, wrong = (situation(1, 0.3, bias)[0] for bias in (1.0, 15.0))
    assert dict(wrong)[4.0] > 2 * dict(right)[4.0]


def test_few_cells_tell_nothing_and_larger_counts_are_never_said_to_be_nearer():
    assert _by_size(np.ones(49), np.ones(49)) == ()
    sizes = np.repeat([0.1, 3.0, 40.0], 300)
    assert _by_size(sizes, np.repeat([0.1, 0.5, 0.9], 300)) == ((0.0, 0.3162), (2.0, 0.7071), (32.0, 0.9487))
    (first, low), (second, middle), (third, high) = _by_size(sizes, np.repeat([0.5, 0.1, 0.9], 300))
    assert (first, second, third) == (0.0, 2.0, 32.0)
    assert low == middle and 0.3 < middle**2 < 0.32 and high == 0.9487  # The mean of both, and a standard error.
    np.testing.assert_allclose(spread_at(((2.0, 0.5),), np.array([0.0, 2.0, 9.0])), [1.0, 0.5, 0.5])


def test_models_predict_what_was_not_selected_but_no_single_attribute():
    margins = [(), ("a",), ("a", "b"), ("b", "c"), ("a", "b", "c")]
    assert [one for one in margins if is_predicted(one, [("a", "b")])] == [("b", "c"), ("a", "b", "c")]


@pytest.mark.parametrize("records", [20, 200])
def test_intervals_of_single_attributes_hold_where_nearly_all_pairs_are_empty(records):
    """Counts of pairs, most of them empty, say how far off counts of pairs are, and nothing of single attributes."""
    random = np.random.default_rng(7)
    data = pd.DataFrame({f"a{at}": np.minimum(random.geometric(0.4, records) - 1, 8) for at in range(6)})
    spec = {"attributes": {name: {"range": [0, 8]} for name in data}, "release": {"all": 2}, "privacy": {"rho": "0.1"}}
    plan, held = mg.plan(spec), []
    assert plan.looks
    for seed in range(4):
        out = mg.release(plan, data, seed=seed)
        assert out.publication.spreads
        for name in data:
            shown, truth = out.table(name), np.bincount(data[name], minlength=9)
            held.extend((shown["low"] <= truth) & (truth <= shown["high"]))
    assert np.mean(held) > 0.9
