import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from margrave.algebra.domain import Attribute, Domain
from margrave.algebra.encoding import ENCODINGS, BinaryEncoding, Plain
from margrave.algebra.table import Table

from .strategies import margins_of, tables

EVERY = pytest.mark.parametrize("kind", ENCODINGS.values())


def test_names_and_sizes():
    domain = Domain((Attribute("age", tuple("abcde")), Attribute("sex", ("f", "m")), Attribute("one", ("1",))))
    encoding = BinaryEncoding(domain)
    assert encoding.encoded.names == ("age:0", "age:1", "age:2", "sex")
    assert encoding.encoded.shape() == (2, 2, 2, 2)
    assert encoding.margin(("age", "one")) == ("age:0", "age:1", "age:2")
    assert encoding.attributes(("age", "one")) == ("age:0", "age:1", "age:2", "one")
    assert Plain(domain).encoded == domain.restrict(("age", "sex"))
    assert Plain(domain).margin(("age", "one")) == ("age",)


def test_a_domain_whose_attributes_all_vary_is_measured_as_it_is():
    domain = Domain((Attribute("age", tuple("abcde")), Attribute("sex", ("f", "m"))))
    assert Plain(domain).encoded is domain


@EVERY
@given(st.data(), tables(most_values=6, most_attributes=3))
def test_cells_stand_where_their_counts_do(kind, data, table):
    encoding, domain = kind(table.domain), table.domain
    margin = data.draw(margins_of(domain))
    counts = np.arange(domain.cells(margin)).reshape(domain.shape(margin))
    encoded = encoding.encode(margin, counts)
    for codes in np.ndindex(counts.shape):
        assert encoded[encoding.cell(margin, codes)] == counts[codes]
        assert encoding.decode_cell(margin, encoding.cell(margin, codes)) == codes


@EVERY
@given(st.data(), tables(most_values=6, most_attributes=3))
def test_counts_of_what_is_measured_come_from_a_declared_margin(kind, data, table):
    encoding = kind(table.domain)
    margin = data.draw(margins_of(encoding.encoded))
    source = encoding.source(margin)
    assert set(margin) <= set(encoding.margin(source))
    whole = Table(encoding.encoded, encoding.encoded.names, encoding.encode(table.domain.names, table.counts))
    assert (encoding.counts(margin, table.project(source).counts) == whole.project(margin).counts).all()


@EVERY
@given(tables(most_values=6, most_attributes=3))
def test_decoding_undoes_encoding_and_keeps_counts(kind, table):
    encoding = kind(table.domain)
    encoded = encoding.encode(table.domain.names, table.counts)
    assert encoded.sum() == table.total
    assert (encoding.decode(table.domain.names, encoded) == table.counts).all()


@pytest.mark.slow
@EVERY
@given(st.data(), tables(most_values=6, most_attributes=3))
def test_decoded_noise_stays_consistent_and_keeps_the_total(kind, data, table):
    encoding = kind(table.domain)
    margin = data.draw(margins_of(table.domain))
    noise = np.random.default_rng(1).normal(size=encoding.encoded.shape())
    full = Table(encoding.encoded, encoding.encoded.names, noise)
    decoded = Table(table.domain, table.domain.names, encoding.decode(table.domain.names, noise))
    direct = encoding.decode(margin, full.project(encoding.margin(margin)).counts)
    np.testing.assert_allclose(direct, decoded.project(margin).counts, atol=1e-9)
    np.testing.assert_allclose(decoded.total, full.total, atol=1e-9)


@EVERY
@given(tables(most_values=6, most_attributes=3))
def test_transposed_weights_say_the_same(kind, table):
    encoding = kind(table.domain)
    names = table.domain.names
    noise = np.random.default_rng(2).normal(size=encoding.encoded.shape())
    left = (encoding.decode(names, noise) * table.counts).sum()
    np.testing.assert_allclose(left, (noise * encoding.transpose(names, table.counts)).sum(), atol=1e-6)
