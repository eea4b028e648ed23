"""Small problems for records: a truth, its noisy residuals, and what the fit needs to know of the domain."""

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from margrave.algebra.residual import residuals
from margrave.reconstruct.estimates import Estimates
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
