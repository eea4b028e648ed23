import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from margrave.algebra.domain import Attribute, Domain
from margrave.algebra.encoding import BinaryEncoding
from margrave.algebra.table import Table

from .strategies import margins_of, tables


def test_names_and_sizes():
    domain = Domain((Attribute("age", tuple("abcde")), Attribute("sex", ("f", "m")), Attribute("one", ("1",))))
    encoding = BinaryEncoding(domain)
    assert encoding.encoded.names == ("age:0", "age:1", "age:2", "sex", "one")
    assert encoding.encoded.shape() == (2, 2, 2, 2, 1)
    assert encoding.margin(("age", "one")) == ("age:0", "age:1", "age:2", "one")


@given(tables(most_values=6, most_attributes=3))
def test_decoding_undoes_encoding_and_keeps_counts(table):
    encoding = BinaryEncoding(table.domain)
    encoded = encoding.encode(table.domain.names, table.counts)
    assert encoded.sum() == table.total
    assert (encoding.decode(table.domain.names, encoded) == table.counts).all()


@given(st.data(), tables(most_values=6, most_attributes=3))
def test_decoded_noise_stays_consistent_and_keeps_the_total(data, table):
    encoding = BinaryEncoding(table.domain)
    margin = data.draw(margins_of(table.domain))
    noise = np.random.default_rng(1).normal(size=encoding.encoded.shape())
    full = Table(encoding.encoded, encoding.encoded.names, noise)
    decoded = Table(table.domain, table.domain.names, encoding.decode(table.domain.names, noise))
    direct = encoding.decode(margin, full.project(encoding.margin(margin)).counts)
    np.testing.assert_allclose(direct, decoded.project(margin).counts, atol=1e-9)
    np.testing.assert_allclose(decoded.total, full.total, atol=1e-9)


@given(tables(most_values=6, most_attributes=3))
def test_transposed_weights_say_the_same(table):
    encoding = BinaryEncoding(table.domain)
    names = table.domain.names
    noise = np.random.default_rng(2).normal(size=encoding.encoded.shape())
    left = (encoding.decode(names, noise) * table.counts).sum()
    np.testing.assert_allclose(left, (noise * encoding.transpose(names, table.counts)).sum(), atol=1e-6)
