"""Random small problems: a table, some of its margins measured with noise."""

import numpy as np
from hypothesis import strategies as st

from margrave.algebra.domain import Attribute, Domain
from margrave.algebra.lattice import downward_closure
from margrave.algebra.residual import centre, residuals
from margrave.reconstruct.estimates import Estimates


def domain_of(*sizes):
    return Domain(tuple(Attribute(f"a{i}", tuple(f"v{v}" for v in range(size))) for i, size in enumerate(sizes)))


def project(domain, table, margin):
    return table.sum(axis=tuple(axis for axis, name in enumerate(domain.names) if name not in margin))


def noisy(domain, truth, margins, variance=4.0, seed=0, exact=()):
    """Estimates of every residual below the margins; variances differ from residual to residual."""
    random = np.random.default_rng(seed)
    values, variances = {}, {}
    for number, below in enumerate(downward_closure(margins)):
        counts = project(domain, truth, below)
        value = residuals(domain, below, counts)[below]
        variances[below] = 0.0 if below in exact else variance * (1 + number % 3)
        error = random.normal(size=value.shape) * np.sqrt(variances[below])
        for axis in range(len(below)):
            error = centre(error, axis)
        values[below] = value + error
    return Estimates(domain, values, variances)


@st.composite
def problems(draw, most_cells=64):
    """A domain, a sparse truth, measured margins and their noisy estimates."""
    sizes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=4).filter(lambda s: 2 <= np.prod(s) <= most_cells))
    domain = domain_of(*sizes)
    subset = st.sets(st.sampled_from(domain.names)).map(domain.margin)
    margins = draw(st.lists(subset, min_size=1, max_size=3))
    seed = draw(st.integers(0, 2**31))
    random = np.random.default_rng(seed)
    truth = random.poisson(random.gamma(0.5, 20.0, domain.shape()))
    variance = draw(st.sampled_from([0.5, 4.0, 100.0]))
    return domain, truth, margins, noisy(domain, truth, margins, variance, seed)


@st.composite
def masks(draw, domain):
    """Which cells are possible: at least one."""
    mask = np.random.default_rng(draw(st.integers(0, 2**31))).random(domain.shape()) < 0.7
    mask.flat[draw(st.integers(0, mask.size - 1))] = True
    return mask


def rows_of(estimates):
    """The measured residuals as a dense matrix, weighted: an independent statement of the least-squares problem."""
    domain = estimates.domain
    rows, targets = [], []
    for margin, value in estimates.values.items():
        if not margin:
            continue
        block = np.ones((1, 1))
        for attribute in domain:
            size = attribute.size
            block = np.kron(block, np.eye(size) - 1 / size if attribute.name in margin else np.ones((1, size)))
        rows.append(block / np.sqrt(estimates.variances[margin]))
        targets.append(value.ravel() / np.sqrt(estimates.variances[margin]))
    cells = domain.cells()
    return np.concatenate([*rows, np.zeros((0, cells))]), np.concatenate([*targets, np.zeros(0)])
