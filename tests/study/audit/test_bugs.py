"""Every known bug is found, and the same mechanism without it is not accused."""

from fractions import Fraction
from math import inf

import pytest

from margrave.noise import DiscreteGaussian, DiscreteLaplace
from margrave.study.audit.bugs import BUGS, catch, delta_forgotten, delta_probabilities
from margrave.study.audit.exact import SAMPLED, audit_sampler, loss_of
from margrave.study.audit.findings import Effort
from margrave.study.audit.mechanism import audit_mechanism, noisy_answers
from margrave.study.audit.registry import seeded_bugs

pytestmark = pytest.mark.slow

MOST = Effort(samples=1_000_000)


@pytest.fixture(scope="module")
def caught():
    return {one.bug.name: one for one in seeded_bugs(MOST)}


@pytest.mark.parametrize("name", BUGS)
def test_each_known_bug_is_found(caught, name):
    one = caught[name]
    assert 0 < one.samples <= 1_000_000
    assert one.bug.stated < one.finding.found <= one.bug.really


def test_there_is_a_bug_of_every_kind():
    wanted = {"scale halved", "replace forgotten", "facts forgotten", "retry", "unit bound undone", "delta forgotten"}
    assert set(BUGS) == wanted


@pytest.mark.parametrize("noise", [DiscreteLaplace(Fraction(1)), DiscreteLaplace(Fraction(3))])
def test_noise_that_keeps_its_promise_is_not_accused(noise):
    import numpy as np

    from margrave.budget.units import PureDP

    zero, one = np.zeros(1, dtype=np.int64), np.ones(1, dtype=np.int64)
    honest = noisy_answers("honest", PureDP(1 / noise.scale), [noise], [zero], [one])
    for seed in range(20):
        assert not audit_mechanism(honest, Effort(samples=20_000, seed=seed)).violated


@pytest.mark.parametrize("power", [2, 3])
def test_a_forgotten_delta_is_found_by_sampling_where_it_is_not_too_small(power):
    assert catch(delta_forgotten(Fraction(1, 10**power)), MOST).samples > 0


@pytest.mark.parametrize("power", [3, 6, 12, 15])
def test_and_by_exact_probabilities_however_small_it_is(power):
    p, q = delta_probabilities(Fraction(1, 10**power))
    assert p.sum() == pytest.approx(1) and q.sum() == pytest.approx(1)
    assert 10.0**-power <= p[-1] < 10.0**-power * 3
    assert loss_of(p, q) == inf
    assert loss_of(p[1:-1], q[1:-1]) < 1.5, "without its ends it would look nearly pure"


@pytest.mark.parametrize("noise", SAMPLED, ids=str)
def test_a_sampler_passes_and_one_of_another_scale_does_not(noise):
    assert not audit_sampler(noise, Effort()).violated
    for factor in (Fraction(9, 10), Fraction(11, 10)):
        if isinstance(noise, DiscreteLaplace):
            wrong = DiscreteLaplace(noise.scale * factor)
        else:
            wrong = DiscreteGaussian(noise.sigma_squared * factor)
        assert audit_sampler(noise, Effort(), wrong).violated
