"""Whatever is done to a bundle, loading it gives a release or one of our own errors, and verifying notices."""

import json
import random
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

import margrave as mg
from margrave.errors import MargraveError
from margrave.publish.bundle.manifest import read_manifest
from margrave.publish.verification.verify import verify

pytestmark = pytest.mark.slow

FLIPS = 60


def flipped(content, generator):
    spoilt = bytearray(content)
    for _ in range(generator.choice([1, 1, 2, 8])):
        place = generator.randrange(len(spoilt))
        spoilt[place] ^= 1 << generator.randrange(8)
    return bytes(spoilt)


def survives(call, path):
    """Our own errors are fine; any other would be shown as a fault."""
    try:
        call(path)
    except MargraveError:
        return False
    return True


def test_flipped_bytes_are_always_noticed(folder):
    generator = random.Random(1)
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    for _ in range(FLIPS):
        path = generator.choice(files)
        content = path.read_bytes()
        spoilt = flipped(content, generator)
        path.write_bytes(spoilt)
        survives(mg.Release.load, folder)
        assert survives(verify, folder) == (spoilt == content)
        path.write_bytes(content)


def test_flipped_bytes_in_an_archive(releases, tmp_path):
    generator = random.Random(2)
    whole = releases["laplace"].save(tmp_path / "whole.zip").read_bytes()
    path = tmp_path / "spoilt.zip"
    for _ in range(FLIPS):
        path.write_bytes(flipped(whole, generator))
        survives(mg.Release.load, path)
        if survives(verify, path):  # only the clock and the packing around the files may have changed
            with zipfile.ZipFile(path) as spoilt, zipfile.ZipFile(tmp_path / "whole.zip") as sound:
                assert all(spoilt.read(name) == sound.read(name) for name in sound.namelist())


@pytest.mark.parametrize(
    "name", ["measurements.parquet", "tables/001-smoke-age.parquet", "exact/001-age-unbiased.parquet"]
)
def test_parquet_with_fitting_checksums(releases, tmp_path, reseal, name):
    folder = releases["sensitive"].save(tmp_path / "out")
    generator = random.Random(name)
    content = (folder / name).read_bytes()
    for _ in range(FLIPS):
        (folder / name).write_bytes(flipped(content, generator))
        reseal(folder)
        survives(mg.Release.load, folder)
        survives(verify, folder)


ODD = [
    None,
    True,
    -1,
    0,
    1.5,
    10**30,
    "",
    "x",
    "1/0",
    "1e999999",
    "NaN",
    [],
    {},
    [[]],
    [None],
    {"x": []},
    ["smoke", "smoke"],
]


def places(value, path=()):
    yield path
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from places(inner, (*path, key))


def test_structural_edits_of_the_manifest_with_a_fitting_digest(folder, reseal):
    sound = (folder / "release.json").read_bytes()
    found = json.loads(sound)
    paths = [path for path in places(found) if path and path[0] != "digest"]
    generator = random.Random(3)
    for _ in range(250):
        path, odd = generator.choice(paths), generator.choice([*ODD, "delete"])

        def change(found, path=path, odd=odd):
            inner = found
            for key in path[:-1]:
                inner = inner[key]
            if odd == "delete":
                del inner[path[-1]]
            else:
                inner[path[-1]] = odd

        try:
            reseal(folder, change)
        finally:
            spoilt = (folder / "release.json").read_bytes()
            (folder / "release.json").write_bytes(sound)
        (folder / "release.json").write_bytes(spoilt)
        survives(mg.Release.load, folder)
        survives(verify, folder)
        (folder / "release.json").write_bytes(sound)


@given(st.binary(max_size=300))
def test_any_bytes_as_manifest(content):
    with pytest.raises(MargraveError):
        read_manifest(content)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=True) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@given(
    st.dictionaries(st.sampled_from(["spec", "plan", "events", "files", "digest", "version", "private"]), json_values)
)
def test_any_json_as_manifest(value):
    with pytest.raises(MargraveError):
        read_manifest(json.dumps({"format": "margrave-release", "version": 1, **value}).encode())


def test_deeply_nested_json_is_refused():
    with pytest.raises(MargraveError):
        read_manifest(b"[" * 200_000)
    with pytest.raises(MargraveError):
        read_manifest(b'{"format": "margrave-release", "version": ' + b"9" * 5000 + b"}")
