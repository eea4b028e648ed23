"""Small problems for records: a truth, its noisy residuals, and what the fit needs to know of the domain."""

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from margrave.algebra.residual import residuals
from margrave.noise import Generator
from margrave.reconstruct.estimates import Estimates
from margrave.reconstruct.records.energy import energy
from margrave.reconstruct.records.fit import Sampler
from margrave.reconstruct.records.kinds import first_kinds
from margrave.reconstruct.records.layout import tables
from margrave.reconstruct.records.start import first_records
from margrave.reconstruct.records.variables import Variables
from margrave.reconstruct.records.zeros import Zeros, zeros
from tests.shapes import domain_of


@dataclass
class Problem:
    domain: object
    truth: np.ndarray
    estimates: Estimates
    wanted: tuple
    found: Variables
    zeros: Zeros


def free(domain):
    """Variables of a domain in which no attribute determines another."""
    places = {name: place for place, name in enumerate(domain.names)}
    return Variables(domain, domain.names, places, {name: np.arange(domain[name].size) for name in domain.names})


def table_of(domain, codes, margin):
    cells = np.zeros(len(codes), dtype=np.int64)
    for name in margin:
        cells = cells * domain[name].size + codes[:, domain.position(name)]
    return np.bincount(cells, minlength=domain.cells(margin)).reshape(domain.shape(margin))


def problem(shape, records, deviation, seed, patterns=(), ways=2):
    """Skewed dependent records, and normal noise of one deviation on every residual but the exact total."""
    random = np.random.default_rng(seed)
    domain = domain_of(*shape)
    first = random.random(records) ** 2
    columns = [
        np.minimum(((first + 0.4 * random.random(records)) / 1.4 * size).astype(int), size - 1) for size in shape
    ]
    truth = np.stack(columns, axis=1)
    found = free(domain)
    forbidden = zeros(found, patterns, domain)
    truth = truth[~forbidden.matched(truth)]
    wanted = tuple(combinations(domain.names, ways))
    values, variances = {}, {}
    for margin in wanted:
        for below, value in residuals(domain, margin, table_of(domain, truth, margin)).items():
            if below not in values:
                noise = residuals(domain, below, random.normal(size=domain.shape(below)) * deviation)[below]
                values[below] = value + (noise if below else 0.0)
                variances[below] = deviation**2 if below else 0.0
    return Problem(domain, truth, Estimates(domain, values, variances), wanted, found, forbidden)


def sampler_of(case, count, seed=1):
    """Records drawn evenly, their misfit and their kinds."""
    margins = [margin for margin in case.estimates.values if margin]
    misfit = energy(case.estimates, tables(case.found, margins))
    generator = Generator.seeded(seed)
    even = [np.full(size, 1 / size) for size in case.found.sizes()]
    codes = first_records(even, count, case.zeros, generator)
    kinds = first_kinds(codes, even, generator)
    return misfit, kinds, Sampler(codes, kinds, misfit, case.zeros, np.uint64(seed))


def misfit_of(case, codes):
    """½ Σ ‖R_T − R̂_T‖²/σ²_T, from its definition."""
    total = 0.0
    for below, value in case.estimates.values.items():
        if below:
            own = residuals(case.domain, below, table_of(case.domain, codes, below))[below]
            total += 0.5 * ((own - value) ** 2).sum() / case.estimates.variances[below]
    return total
