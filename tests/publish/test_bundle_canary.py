"""Nothing confidential is in any file of a bundle: no path, no other column, no count, no number of rows."""

import io
import zipfile

import pandas as pd
import pyarrow.parquet as pq
import pytest

import margrave as mg

pytestmark = pytest.mark.slow

PATH = "zanzibar-vault-9d41"
UNIT = "quokka_id_77ab"
COUNT = "wombat_weight_31cd"
EXTRA = "okapi_column_55ef"
MARKER = "axolotl-marker-0c12"
ROWS = 734_129
SPEC = """
title = "Canary"
[data]
source = "{path}/{path}.csv"
{data}
[attributes]
smoke = ["no", "yes"]
age = {{ range = [1, 3], other = "other" }}
[release]
tables = [["smoke", "age"]]
strategy = "margins"
[privacy]
epsilon = 0.01
"""


def readings(name, content):
    """The bytes of a file, and of everything packed inside it."""
    yield name, content
    if name.endswith(".parquet"):
        file = pq.ParquetFile(io.BytesIO(content))
        yield name, (str(file.metadata.metadata) + str(file.schema) + str(file.read().to_pylist())).encode()
        for group in range(file.num_row_groups):
            for column in range(file.metadata.num_columns):
                yield name, str(file.metadata.row_group(group).column(column).to_dict()).encode()


def everything(out, tmp_path):
    folder, packed = out.save(tmp_path / "out"), out.save(tmp_path / "out.zip")
    with zipfile.ZipFile(packed) as archive:
        inside = [(name, archive.read(name)) for name in archive.namelist()]
    files = [(path.name, path.read_bytes()) for path in folder.rglob("*") if path.is_file()]
    for name, content in [*files, *inside, ("out.zip", packed.read_bytes())]:
        yield from readings(name, content)


@pytest.fixture
def counted(tmp_path):
    """A tabulated file: two cells, whose counts nobody should see."""
    (tmp_path / PATH).mkdir()
    rows = f"smoke,age,{EXTRA},{COUNT}\nno,1,{MARKER},{ROWS}\nyes,{MARKER},{MARKER},{ROWS // 3}\n"
    (tmp_path / PATH / f"{PATH}.csv").write_text(rows)
    (tmp_path / "spec.toml").write_text(SPEC.format(path=PATH, data=f'count = "{COUNT}"'))
    return mg.release(tmp_path / "spec.toml", seed=11)


@pytest.fixture
def owned(tmp_path):
    """Records of units, from a frame."""
    frame = pd.DataFrame({"smoke": ["no"] * 4321, "age": ["2"] * 2160 + [MARKER] * 2161, EXTRA: MARKER})
    frame[UNIT] = [f"{MARKER}-{index // 3}" for index in range(4321)]
    (tmp_path / "spec.toml").write_text(SPEC.format(path=PATH, data=f'unit = {{ column = "{UNIT}", max_records = 3 }}'))
    return mg.release(tmp_path / "spec.toml", frame, seed=12)


@pytest.mark.parametrize("kind", ["counted", "owned"])
def test_no_file_holds_anything_confidential(kind, request, tmp_path):
    out = request.getfixturevalue(kind)
    exact = [ROWS, ROWS // 3, ROWS + ROWS // 3] if kind == "counted" else [4321]
    secrets = [PATH, UNIT, COUNT, EXTRA, MARKER, str(tmp_path), *map(str, exact)]
    seen = 0
    for name, content in everything(out, tmp_path):
        seen += 1
        for secret in secrets:
            assert secret.encode() not in content, f"{secret} is in {name}"
            assert secret.encode("utf-16-le") not in content
    assert seen > 20


def test_the_unit_is_stated_without_its_column(owned, tmp_path):
    text = (owned.save(tmp_path / "out") / "release.json").read_text(encoding="utf-8")
    assert '"records": 3' in text
    assert "one unit with at most 3 records" in text
    assert mg.Release.load(tmp_path / "out").plan.protection.records == 3
