"""Random domains and tables for property tests."""

import numpy as np
from hypothesis import strategies as st

from margrave.algebra.domain import Attribute, Domain
from margrave.algebra.table import Table


@st.composite
def domains(draw, most_attributes=4, most_values=4):
    """Domains with 1-valued attributes and with no attributes among them."""
    sizes = draw(st.lists(st.integers(1, most_values), max_size=most_attributes))
    return Domain(tuple(Attribute(f"a{i}", tuple(f"v{v}" for v in range(size))) for i, size in enumerate(sizes)))


@st.composite
def tables(draw, most_attributes=4, most_values=4, low=0, high=1000):
    """Full tables of whole numbers over random domains."""
    domain = draw(domains(most_attributes, most_values))
    seed = draw(st.integers(0, 2**32 - 1))
    counts = np.random.default_rng(seed).integers(low, high, domain.shape())
    return Table(domain, domain.names, counts)


@st.composite
def margins_of(draw, domain):
    return domain.margin(draw(st.sets(st.sampled_from(domain.names)))) if len(domain) else ()
