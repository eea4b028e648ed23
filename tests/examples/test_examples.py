"""The bundled tables are complete and right, and each spec speaks of its own table only."""

from __future__ import annotations

import csv
import tomllib
from collections import Counter
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

import duckdb
import pytest

import margrave as mg
from margrave import examples
from margrave.errors import UsageError

NAMES = ("fungus", "czech", "rochdale", "journey")
TABLES = {
    "fungus": "AD AB BE CE CF",
    "czech": "BF ADE ABCE",
    "rochdale": "ACE ACG ADG BDH BF BE CEF CFG",
    "journey": "AB AC BC",
}


def load_spec(name: str) -> dict[str, Any]:
    return tomllib.loads(examples.path(name).read_text(encoding="utf-8"))


def load_rows(name: str) -> tuple[list[str], list[tuple[tuple[str, ...], int]]]:
    """The attribute names and, in file order, each cell with its count."""
    source = examples.path(name).parent / load_spec(name)["data"]["source"]
    with source.open(newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    assert header[-1] == load_spec(name)["data"]["count"] == "count"
    return header[:-1], [(tuple(row[:-1]), int(row[-1])) for row in rows]


def values_of(entry: dict[str, Any]) -> list[str]:
    if "range" in entry:
        low, high = entry["range"]
        return [str(number) for number in range(low, high + 1)]
    return list(entry["values"])


def margin(name: str, *attributes: str) -> Counter[tuple[str, ...]]:
    header, rows = load_rows(name)
    places = [header.index(attribute) for attribute in attributes]
    table: Counter[tuple[str, ...]] = Counter()
    for cell, count in rows:
        table[tuple(cell[place] for place in places)] += count
    return table


@pytest.mark.parametrize(
    ("name", "cells", "total", "zeros"),
    [("fungus", 64, 70, 42), ("czech", 64, 1841, 1), ("rochdale", 256, 665, 165), ("journey", 256, 2291, 182)],
)
def test_sizes_and_totals(name: str, cells: int, total: int, zeros: int) -> None:
    counts = [count for _, count in load_rows(name)[1]]
    assert (len(counts), sum(counts), counts.count(0)) == (cells, total, zeros)
    assert min(counts) == 0
    # The one-line description states the same numbers.
    assert f"{total} " in examples.describe(name)
    assert f"{zeros} of {cells} cells empty" in examples.describe(name)


@pytest.mark.parametrize(
    ("name", "cell", "count"),
    [
        ("fungus", "1 2 2 2 2 2", 11),
        ("fungus", "2 1 1 1 1 1", 16),
        ("fungus", "1 2 1 2 1 1", 7),
        ("fungus", "1 1 1 1 1 1", 0),
        ("czech", "no no no low low no", 44),
        ("czech", "yes no yes low low no", 145),
        ("czech", "yes no no high high yes", 0),
        ("czech", "yes yes yes high high yes", 4),
        ("rochdale", "no no no no no no no no", 5),
        ("rochdale", "yes no no no yes yes no no", 57),
        ("rochdale", "yes yes no no no no no yes", 25),
        ("rochdale", "yes no no yes yes yes yes yes", 1),
        ("rochdale", "no no yes yes no no yes no", 8),
        ("journey", "a c 1", 243),
        ("journey", "b b 14", 78),
        ("journey", "d b 16", 18),
        ("journey", "d d 16", 0),
    ],
)
def test_known_cells(name: str, cell: str, count: int) -> None:
    assert dict(load_rows(name)[1])[tuple(cell.split())] == count


@pytest.mark.parametrize(
    ("attribute", "yes"),
    [
        ("wife_active", 444),
        ("wife_over_38", 336),
        ("husband_unemployed", 79),
        ("young_child", 164),
        ("wife_educated", 295),
        ("husband_educated", 383),
        ("asian", 54),
        ("other_worker", 148),
    ],
)
def test_rochdale_labels_are_the_right_way_round(attribute: str, yes: int) -> None:
    assert margin("rochdale", attribute) == {("no",): 665 - yes, ("yes",): yes}


def test_margins_quoted_in_the_docs() -> None:
    age_child = margin("rochdale", "wife_over_38", "young_child")
    assert (age_child["yes", "yes"], age_child["no", "yes"], age_child["yes", "no"]) == (12, 152, 324)
    active_child = margin("rochdale", "wife_active", "young_child")
    assert (active_child["no", "yes"], active_child["yes", "yes"]) == (95, 69)
    assert sum(1 <= count <= 4 for _, count in load_rows("rochdale")[1]) == 58
    protein = margin("czech", "smoke", "mental", "protein")
    assert (protein["no", "no", "low"], protein["no", "no", "high"]) == (349, 522 - 349)
    assert (protein["no", "yes", "low"], protein["no", "yes", "high"]) == (249, 439 - 249)
    assert (protein["yes", "no", "low"], protein["yes", "no", "high"]) == (308, 541 - 308)
    assert (protein["yes", "yes", "low"], protein["yes", "yes", "high"]) == (155, 339 - 155)
    second = [margin("czech", attribute) for attribute in load_rows("czech")[0]]
    assert [table[("yes",)] + table[("high",)] for table in second] == [880, 778, 914, 787, 780, 260]


@pytest.mark.parametrize("name", NAMES)
def test_spec_declares_the_table_it_reads(name: str) -> None:
    spec = load_spec(name)
    header, rows = load_rows(name)
    attributes = spec["attributes"]
    assert list(attributes) == header
    domain = [values_of(entry) for entry in attributes.values()]
    # Every cell once, in order, the last attribute fastest: this also says that no value is missing or undeclared.
    assert [cell for cell, _ in rows] == list(product(*domain))
    assert len(rows) == prod(map(len, domain))


@pytest.mark.parametrize("name", NAMES)
def test_spec_stays_within_the_dialect(name: str) -> None:
    spec = load_spec(name)
    assert set(spec) == {"data", "attributes", "release", "privacy"}
    assert spec["data"] == {"source": f"data/{name}.csv", "count": "count", "confidential": False}
    assert spec["privacy"] == {"epsilon": 1.0}
    for entry in spec["attributes"].values():
        assert set(entry) <= {"title", "values", "range", "labels"}
        assert ("values" in entry) != ("range" in entry)
        assert entry["title"]
        assert set(entry.get("labels", {})) <= set(values_of(entry))


@pytest.mark.parametrize("name", NAMES)
def test_spec_asks_for_the_margins_of_the_model(name: str) -> None:
    header, _ = load_rows(name)
    letters = dict(zip("ABCDEFGH", header, strict=False))
    wanted = [[letters[letter] for letter in table] for table in TABLES[name].split()]
    assert load_spec(name)["release"] == {"tables": wanted}


def test_names_are_the_bundled_files() -> None:
    assert examples.names() == NAMES
    folder = examples.path("czech").parent
    assert {file.stem for file in folder.glob("*.toml")} == set(NAMES)
    assert {file.stem for file in (folder / "data").glob("*.csv")} == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_path_and_description(name: str) -> None:
    path = examples.path(name)
    assert isinstance(path, Path)
    assert path.is_file()
    assert path.name == f"{name}.toml"
    assert examples.describe(name)
    assert "\n" not in examples.describe(name)


@pytest.mark.parametrize("function", [examples.path, examples.describe])
@pytest.mark.parametrize("wrong", ["chzech", "Czech", "czech.toml"])
def test_unknown_name_gets_a_suggestion(function: Any, wrong: str) -> None:
    with pytest.raises(UsageError, match=r"did you mean 'czech'\? The examples are fungus, czech, rochdale, journey\."):
        function(wrong)


@pytest.mark.parametrize("wrong", ["", "adult", ".."])
def test_unknown_name_without_a_near_one_lists_the_examples(wrong: str) -> None:
    with pytest.raises(UsageError, match=r"'\. The examples are fungus") as caught:
        examples.path(wrong)
    assert "did you mean" not in str(caught.value)


@pytest.mark.parametrize("name", examples.names())
def test_counts_equal_those_of_a_database(name):
    """Every wanted table, counted by the pipeline and by SQL over the same file."""
    spec = mg.Spec.load(examples.path(name))
    exact = mg.count(spec)
    source = f"read_csv('{spec.data.location}', all_varchar = true)"
    for margin in spec.margins:
        names = ", ".join(f'"{column}"' for column in margin)
        rows = duckdb.sql(f"SELECT {names}, sum(CAST(count AS BIGINT)) FROM {source} GROUP BY ALL").fetchall()
        found = {tuple(row[:-1]): row[-1] for row in rows}
        table = exact.table(margin).to_pandas()
        assert len(found) == len(table)
        assert all(found[tuple(row[:-1])] == row[-1] for row in table.itertuples(index=False))
