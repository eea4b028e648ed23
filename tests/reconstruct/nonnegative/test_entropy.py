"""The path of least committed tables: followed as long as it can be, and never beyond."""

import numpy as np
import pytest

from margrave.algebra.residual import residuals
from margrave.reconstruct.estimates import Estimates
from margrave.reconstruct.nonnegative.entropy import Path, entropy
from margrave.reconstruct.nonnegative.spectrum import Spectrum
from tests.shapes import domain_of


def noisy(attributes=9, size=20_000, error=900.0, seed=0):
    """All pairs of a table of people of three kinds, with much noise and an exact total; and the table."""
    generator = np.random.default_rng(seed)
    domain = domain_of(*[2] * attributes)
    chances = np.clip(generator.normal([[0.05], [0.2], [0.8]], 0.08, (3, attributes)), 0.01, 0.99)
    people = generator.random((size, attributes)) < chances[generator.choice(3, size, p=[0.5, 0.3, 0.2])]
    table = np.zeros(domain.shape())
    np.add.at(table, tuple(people.T.astype(int)), 1)
    values, variances = {(): np.array(float(size))}, {(): 0.0}
    for at, one in enumerate(domain.names):
        for other in domain.names[at + 1 :]:
            axes = tuple(axis for axis, name in enumerate(domain.names) if name not in (one, other))
            for below, part in residuals(domain, (one, other), table.sum(axis=axes)).items():
                if below and below not in values:
                    drawn = generator.normal(0, error, part.shape)
                    for axis in range(part.ndim):
                        drawn = drawn - drawn.mean(axis=axis, keepdims=True)
                    values[below], variances[below] = part + drawn, error**2
    return Estimates(domain, values, variances), table


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_a_path_that_is_lost_gives_no_further_tables(seed):
    estimates, _ = noisy(seed=seed)
    spectrum = Spectrum.of(estimates, fix_total=True)
    path, least = Path(estimates), np.inf
    kappa = path.first_kappa()
    for stage in range(44):
        table = path.solve(kappa * 0.5**stage)
        assert np.isfinite(table).all()
        assert table.sum() == pytest.approx(estimates.total, rel=1e-6)
        misfit = spectrum.misfit(spectrum.transform.forward(table))
        assert misfit <= 1.06 * least + 0.06 * (spectrum.finite > 0).sum()
        least = min(least, misfit)


@pytest.mark.parametrize("seed", range(3))
def test_the_chosen_table_is_no_worse_than_independence(seed):
    estimates, table = noisy(seed=seed)
    wanted = [margin for margin in estimates.values if len(margin) == 2]
    found = entropy(estimates, wanted).table

    def apart(other):
        total = 0.0
        for margin in wanted:
            axes = tuple(axis for axis, name in enumerate(estimates.domain.names) if name not in margin)
            total += np.abs(other.sum(axis=axes) - table.sum(axis=axes)).sum()
        return total

    assert apart(found) < apart(estimates.independent())
