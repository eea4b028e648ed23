"""Every field of `release.json` and every column of every file: a change is found, or documented as one that cannot be.

The forger is careful: checksums fit, and the report is made again from what is forged.
"""

import copy
import json
import re
from contextlib import contextmanager
from fnmatch import fnmatch
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import margrave as mg
from margrave.errors import MargraveError, VerificationError
from margrave.publish.bundle.account import Checksum
from margrave.publish.bundle.bundle import load_bundle
from margrave.publish.bundle.described import CSVW, PACKAGE
from margrave.publish.bundle.parts.description import metadata
from margrave.publish.bundle.parts.names import table_stems
from margrave.publish.bundle.parts.parts import csv_bytes, cube_rows, parquet_bytes
from margrave.publish.release import Release
from margrave.publish.report.page import report_pages
from margrave.publish.verification.verify import verify
from tests.facts.test_planning import with_facts
from tests.publish.conftest import SPECS
from tests.shapes import frame_of, spec_of

pytestmark = pytest.mark.slow

DOCS = Path(__file__).parents[2] / "docs/bundle-format.md"


def beyond_verify():
    """The fields that the documentation names as out of reach, as patterns."""
    section = DOCS.read_text(encoding="utf-8").split("## What verify cannot know")[1].split("\n## ")[0]
    return [field for row in re.findall(r"^\| (`.*?) \|", section, re.M) for field in re.findall(r"`([^`]+)`", row)]


BEYOND = beyond_verify()


def leaves(value, path=()):
    """Every place in a JSON value, and the value with that place changed."""
    if isinstance(value, dict):
        for name in value:
            yield from leaves(value[name], (*path, name))
    elif isinstance(value, list) and value:
        for number, one in enumerate(value):
            yield from leaves(one, (*path, number))
    else:
        yield path


def others(value):
    """Other values in the place of one."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int | float):
        return [value + 1]
    if isinstance(value, str) and re.match(r"\d{4}-\d\d-\d\dT", value):
        return [f"{value}x", value.replace("20", "21", 1)]
    if value is None or isinstance(value, list | dict):
        return ["x"]
    return [f"{value}x", *([str(2 * Fraction(value) + 1)] if re.fullmatch(r"[\d./]+", value) else [])]


def replaced(found, path, value):
    changed = copy.deepcopy(found)
    place = changed
    for one in path[:-1]:
        place = place[one]
    place[path[-1]] = value
    return changed


def name_of(path):
    return ".".join("*" if isinstance(one, int) else one for one in path)


def forge(folder, reseal, path, found):
    """Write what is forged, and the report that follows from it, with checksums unless these are what is forged."""

    def change(old):
        old.clear()
        old.update(found)

    reseal(folder, change)
    if path[0] == "files":
        return
    try:
        bundle = load_bundle(folder)
        rewrite(folder, bundle)
    except MargraveError:
        return
    reseal(folder)


def rewrite(folder, bundle):
    """Make anew what a bundle says to people and to machines."""
    release, created = bundle.release, bundle.manifest.created
    pages = [*report_pages(release, created, bundle.manifest.software)]
    sums = {path.relative_to(folder).as_posix(): Checksum.of(path.read_bytes()) for path in folder.rglob("*.csv")}
    for name, content in (*pages, *metadata(release, created, sums)):
        (folder / name).write_bytes(content)


def noticed(folder, **options):
    try:
        verify(folder, **options)
    except VerificationError:
        return True
    return False


LEDGER = {"id": "f" * 32, "dataset": "survey@1", "entry": 7, "hash": "0" * 64, "time": "2031-02-03T04:05:06+00:00"}
FACTS = with_facts(spec_of((2, 2), ["ab"], strategy="margins"), ["a"])


@pytest.fixture(params=["sensitive", "raw", "charged", "facts"])
def bundle(request, data, tmp_path):
    if request.param == "facts":
        out = mg.release(FACTS, frame_of(FACTS.domain, np.array([[3, 4], [5, 6]])))
    else:
        out = mg.release(SPECS[{"charged": "gauss"}.get(request.param, request.param)], data)
    if request.param == "charged":
        out = Release(out.plan, out.measured, LEDGER)
    return out.save(tmp_path / "bundle")


@contextmanager
def kept(folder):
    """Whatever happens inside, the folder is afterwards as it was."""
    contents = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    yield
    for path, content in contents.items():
        path.write_bytes(content)


def test_every_field_of_the_manifest_is_checked_or_documented(bundle, reseal):
    found = json.loads((bundle / "release.json").read_text(encoding="utf-8"))
    del found["digest"]
    passed = {}
    for path in leaves(found):
        value = found
        for one in path:
            value = value[one]
        for other in others(value):
            with kept(bundle):
                forge(bundle, reseal, path, replaced(found, path, other))
                if not noticed(bundle):
                    passed[name_of(path)] = (value, other)
    assert {name: said for name, said in passed.items() if not any(fnmatch(name, one) for one in BEYOND)} == {}


def changed_column(table, name):
    """The table with another value of a column in its second row."""
    values = table.column(name).to_pylist()
    row = min(1, len(values) - 1)
    rest = [value for value in values if value != values[row]]
    if isinstance(values[row], str):
        values[row] = [*rest, values[row] + "x"][0]
    else:
        # More than simulated bars may differ by.
        values[row] += 1 if isinstance(values[row], int) else 1 + abs(values[row]) / 2
    place = table.column_names.index(name)
    return table.set_column(place, name, pa.array(values, table.schema.field(name).type))


def forge_column(folder, reseal, path, name):
    """Change a column of a Parquet file, and with it the CSV file, the cube, the report and the checksums."""
    table = changed_column(pq.read_table(path), name)
    path.write_bytes(parquet_bytes(table))
    path.with_suffix(".csv").write_bytes(csv_bytes(table))
    reseal(folder)
    try:
        found = load_bundle(folder)
        stems = table_stems(found.release.plan).items()
        tables = [(margin, pq.read_table(folder / f"{stem}.parquet")) for margin, stem in stems]
        (folder / "cube.csv").write_bytes(b"".join(cube_rows(found.release.domain, tables)))
        rewrite(folder, found)
    except MargraveError:
        return
    reseal(folder)


def test_every_column_of_every_file_is_checked_or_documented(bundle, reseal):
    for path in sorted(bundle.rglob("*.parquet")):
        for name in pq.read_schema(path).names:
            with kept(bundle):
                forge_column(bundle, reseal, path, name)
                where = f"{path.name if path.parent == bundle else f'{path.parent.name}/*.parquet'}: {name}"
                assert noticed(bundle) or where in BEYOND, where
                assert noticed(bundle, bars=True), where


def test_every_file_for_people_follows_from_those_for_programs(bundle, reseal):
    for path in sorted(bundle.rglob("*.*")):
        if path.suffix in (".csv", ".html") or path.name in (CSVW, PACKAGE):
            with kept(bundle):
                path.write_bytes(path.read_bytes()[:-2] + b"?\n")
                reseal(bundle)
                assert noticed(bundle), path.name
