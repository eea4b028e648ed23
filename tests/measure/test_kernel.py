"""The kernel: the same counts for every width, weight and thread."""

from __future__ import annotations

from threading import enumerate as enumerate_threads

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from margrave.algebra.domain import Attribute, Domain
from margrave.errors import RefusedError
from margrave.measure.engines import kernel as kernels
from margrave.measure.engines.count import count_margins, count_tables, summed
from margrave.measure.engines.here import Tally
from margrave.measure.engines.kernel import Kernel, cell_type
from margrave.measure.engines.sparse import SparseTally
from margrave.measure.records import Coded, blocks
from margrave.measure.sources.sources import open_source
from margrave.spec.codebook import Codebook, CodebookEntry, Range


def domain_of(*sizes):
    return Domain(tuple(Attribute(f"a{at}", tuple(map(str, range(size)))) for at, size in enumerate(sizes)))


def block_of(domain, rows, seed=0, most=0):
    rng = np.random.default_rng(seed)
    codes = {one.name: rng.integers(0, one.size, rows).astype(np.min_scalar_type(one.size - 1)) for one in domain}
    return Coded(rows, codes, rng.integers(0, most + 1, rows) if most else None)


def brute(domain, margin, block):
    counts = np.zeros(domain.shape(margin), dtype=np.int64)
    weights = np.ones(block.rows, dtype=np.int64) if block.weights is None else block.weights
    for row in range(block.rows):
        counts[tuple(int(block.codes[name][row]) for name in margin)] += int(weights[row])
    return counts


@pytest.mark.slow
@pytest.mark.parametrize("loaded", [1500, 1 << 40], ids=["compiled at last", "numpy"])
@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("most", [0, 9, 1 << 50])
def test_the_kernel_counts_what_a_loop_counts(monkeypatch, threads, most, loaded):
    monkeypatch.setattr(kernels, "_WORTH_THREADS", 0)
    monkeypatch.setattr(kernels, "_WORTH_LOADING", 7 * loaded)
    domain = domain_of(2, 300, 3, 1, 5, 70_000)
    tables = [("a0", "a1"), ("a0", "a1", "a2"), ("a0", "a2", "a4"), ("a1", "a2"), ("a5",), ("a0", "a3", "a5"), ()]
    parts = [block_of(domain, 499, seed, most) for seed in range(4)]
    with Tally(domain, tables, threads) as tally:
        for part in parts:
            tally.add(part)
        counts = summed(domain, tally.tables(), [*tables, ("a2",), ("a3", "a5")])
    assert not any(thread.name.startswith("margrave") for thread in enumerate_threads())
    for margin, found in counts.items():
        assert found.dtype == np.int64
        np.testing.assert_array_equal(found, sum(brute(domain, margin, part) for part in parts), err_msg=str(margin))


def test_no_block_is_lost_when_threads_take_over():
    domain = domain_of(3, 4, 5)
    parts = [block_of(domain, rows, rows) for rows in (10, 1 << 20, 7, 1 << 20)]
    with Kernel(domain, [("a0", "a1", "a2"), ("a1",), ("a2",)], threads=2) as kernel:
        for part in parts:
            kernel.add(part, part.rows)
        assert all(counts.sum() == sum(part.rows for part in parts) for counts in kernel.counts().values())
    assert "3 tables" in repr(kernel) and "[" not in repr(kernel)


def test_an_error_in_a_thread_is_not_lost(monkeypatch):
    monkeypatch.setattr(kernels, "_WORTH_THREADS", 0)
    domain = domain_of(3, 4)
    with Kernel(domain, [("a0",), ("a1",)], threads=2) as kernel:
        kernel.add(Coded(2, {"a0": np.zeros(2, dtype=np.uint8)}), 2)
        with pytest.raises(KeyError):
            kernel.counts()


def test_cell_numbers_take_the_smallest_type():
    assert [cell_type(cells).name for cells in (2, (1 << 16) - 1, 1 << 16, (1 << 32) - 1, 1 << 32)] == [
        "uint16", "uint16", "uint32", "uint32", "int64"]  # fmt: skip


@given(st.lists(st.integers(0, 9), max_size=20), st.integers(1, 12), st.booleans())
def test_blocks_keep_every_record_in_order(sizes, rows, weighted):
    domain = domain_of(200)
    batches = [block_of(domain, size, at, 9 if weighted else 0) for at, size in enumerate(sizes)]
    joined = list(blocks(iter(batches), rows))
    assert [int(code) for block in joined for code in block.codes["a0"]] == [
        int(code) for batch in batches for code in batch.codes["a0"]]  # fmt: skip
    assert sum(block.rows for block in joined) == sum(sizes)
    assert all(block.rows >= rows // 2 for block in joined[:-1])
    if weighted:
        assert np.concatenate([np.zeros(0), *(block.weights for block in joined)]).tolist() == [
            weight for batch in batches for weight in batch.weights.tolist()]  # fmt: skip


HUGE = Codebook(tuple(CodebookEntry(f"a{at}", Range(0, 99)) for at in range(9)))


def huge_rows(rows=500):
    rng = np.random.default_rng(3)
    return pa.table({f"a{at}": rng.integers(0, 3, rows) * 40 for at in range(9)} | {"n": rng.integers(0, 4, rows)})


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("merge", [1, 1 << 20])
def test_sparse_counts_of_a_cuboid_that_cannot_be_held(monkeypatch, weighted, merge):
    monkeypatch.setattr("margrave.measure.engines.sparse._MERGE_ROWS", merge)
    monkeypatch.setattr("margrave.measure.engines.here.BLOCK_ROWS", 100)
    table = huge_rows()
    data = pa.Table.from_batches(table.to_batches(max_chunksize=60))
    margins = [HUGE.domain.names, ("a1", "a3"), ("a2",), ()]
    counts = count_tables(open_source(data), HUGE, margins, count_column="n" if weighted else None, dense_cells=0)[1]
    assert list(counts) == margins
    for margin, found in counts.items():
        expected: dict[tuple[int, ...], int] = {}
        for row in table.to_pylist():
            cell = tuple(row[name] for name in margin)
            expected[cell] = expected.get(cell, 0) + (row["n"] if weighted else 1)
        expected = {cell: count for cell, count in expected.items() if count}
        assert dict(zip(map(tuple, found.codes().tolist()), found.counts.tolist(), strict=True)) == expected
        assert (np.diff(found.cells) > 0).all()
        assert "array" not in repr(found)


def test_sparse_and_dense_counts_agree():
    table = huge_rows()
    dense = count_margins(open_source(table), HUGE, [("a0", "a1", "a2")])["a0", "a1", "a2"]
    sparse = count_tables(open_source(table), HUGE, [("a0", "a1", "a2")], dense_cells=0)[1]["a0", "a1", "a2"]
    assert dense.ravel()[sparse.cells].tolist() == sparse.counts.tolist()
    assert dense.sum() == sparse.counts.sum()
    empty = count_tables(open_source(table.slice(0, 0)), HUGE, [("a0",), ()], dense_cells=0)[1]
    assert [len(found.cells) for found in empty.values()] == [0, 0]


def test_sparse_counts_with_patterns_and_limits():
    table = huge_rows()
    zero = {"a0": frozenset({"0"})}
    with pytest.raises(Exception, match="is declared impossible"):
        count_tables(open_source(table), HUGE, [("a1",)], impossible=[zero], dense_cells=0)[1]
    wide = Codebook(tuple(CodebookEntry(f"a{at}", Range(0, 99)) for at in range(10)))
    with pytest.raises(RefusedError, match="more than 64 bits can number"):
        count_tables(open_source(table), wide, [wide.domain.names], dense_cells=0)[1]
    assert repr(SparseTally(HUGE.domain, [("a0",)])) == "<SparseTally of 1 tables>"
