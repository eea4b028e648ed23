"""Small domains, tables and specs that many tests share."""

from fractions import Fraction
from itertools import product

import numpy as np

from margrave.algebra.domain import Attribute, Domain
from margrave.budget.units import PureDP
from margrave.spec.codebook import Categories, Codebook, CodebookEntry
from margrave.spec.spec import Spec
from margrave.spec.workload import Wanted


def domain_of(*sizes):
    return Domain(tuple(Attribute(chr(97 + i), tuple(str(v) for v in range(k))) for i, k in enumerate(sizes)))


def spec_of(sizes, tables, budget=None, **settings):
    """A spec over attributes a, b, c, … of the given sizes; tables are texts such as "ab"."""
    entries = (CodebookEntry(chr(97 + i), Categories(tuple(str(v) for v in range(k)))) for i, k in enumerate(sizes))
    wanted = tuple(Wanted(tuple(table)) for table in tables)
    return Spec(Codebook(tuple(entries)), budget or PureDP(Fraction(1)), wanted, **settings)


def records_of(domain):
    return list(product(*map(range, domain.shape())))


def frame_of(domain, table):
    """Microdata with the given full table."""
    import pandas as pd

    codes = np.repeat(np.array(records_of(domain)).reshape(-1, len(domain)), np.ravel(table), axis=0)
    values = {
        name: np.array(domain[name].values, dtype=object)[codes[:, axis]] for axis, name in enumerate(domain.names)
    }
    return pd.DataFrame(values, dtype=object)
