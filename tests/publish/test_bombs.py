"""Small files that announce, or unpack to, far more than they hold. Each is refused in one line, within little memory.

Every bomb is read by a process of its own, which may take what reading a sound bundle takes and 512 MiB more. Its
address space is limited, too, so that one that goes off ends in an error there and not in a swapping machine. These
processes are copies of one that has imported everything already.
"""

import subprocess
import sys
import zipfile
from threading import Timer

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import margrave as mg
from margrave.errors import BundleError
from margrave.planning import limits
from margrave.publish.bundle.account import Checksum

pytestmark = pytest.mark.slow

ROOM = 512 << 20
SECONDS = 60
"""Far more than any of these take, on a machine that does other things beside."""

READ = """
import os, resource, sys
import numpy, pandas, pyarrow.parquet, scipy.sparse
import margrave as mg
from margrave.publish.bundle import bundle
from margrave.publish.verification.verify import verify
from margrave.planning import limits
from margrave.errors import MargraveError
limits.MANY_SIMULATIONS, limits.FEW_SIMULATIONS = map(int, sys.argv[1:])
def said(call):
    try:
        call()
    except MargraveError as error:
        return f"{type(error).__name__}: {error}"
    return "read"
def tables(release):
    return [release.table(*margin) for margin in release.plan.spec.margins]
def read(path, room):
    if room:
        resource.setrlimit(resource.RLIMIT_AS, (room, room))
    print(said(lambda: tables(mg.Release.load(path))), said(lambda: verify(path)), sep="\\n")
    with open("/proc/self/status") as status:
        print(*(line.split()[1] for line in status if line.startswith(("VmPeak", "VmHWM"))), flush=True)
for line in sys.stdin:
    room, path = line.rstrip("\\n").split(" ", 1)
    child = os.fork()
    if not child:
        try:
            read(path, int(room))
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    print(flush=True)
"""


@pytest.fixture(scope="module")
def reader():
    """Reads a path in a copy of a process, with so much address space, and gives the lines that it prints."""
    simulated = (limits.MANY_SIMULATIONS, limits.FEW_SIMULATIONS)
    command = [sys.executable, "-c", READ, *map(str, simulated)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:

        def read(path, room=0):
            guard = Timer(SECONDS, process.kill)
            guard.start()
            print(room, path, file=process.stdin, flush=True)
            lines = list(iter(lambda: process.stdout.readline().rstrip("\n"), ""))
            guard.cancel()
            assert process.poll() is None, "it took too long"
            return lines

        yield read
        process.stdin.close()


@pytest.fixture(scope="module")
def honest(sound, reader):
    """The address space and the memory, in bytes, that a sound bundle is read in."""
    load, verified, peaks = reader(sound)
    assert (load, verified) == ("read", "read")
    return [int(peak) << 10 for peak in peaks.split()]


@pytest.fixture(scope="module")
def sound(releases, tmp_path_factory):
    folder = tmp_path_factory.mktemp("sound")
    return releases["laplace"].save(folder / "bundle")


@pytest.fixture
def defused(honest, reader):
    """Reads a bomb, and gives what was said when loading and when verifying it, each in one line."""
    space, memory = honest

    def read(path):
        load, verified, peaks = reader(path, space + 2 * ROOM)
        assert int(peaks.split()[1]) << 10 < memory + ROOM
        return load, verified

    return read


def pack(folder, path):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for one in sorted(folder.rglob("*")):
            if one.is_file():
                archive.write(one, one.relative_to(folder).as_posix())
    return path


def pack_with(folder, path, name, chunk, times):
    """The same, with one file in place of the bundle's: a chunk, repeated."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for one in sorted(folder.rglob("*")):
            if one.is_file() and one.relative_to(folder).as_posix() != name:
                archive.write(one, one.relative_to(folder).as_posix())
        with archive.open(name, "w", force_zip64=True) as handle:
            for _ in range(times):
                handle.write(chunk)
    return path


def replaced(folder, name, columns, **options):
    """A Parquet file of the bundle in which some columns are others."""
    table = parquet.read_table(folder / name)
    for label, values in columns.items():
        table = table.set_column(table.column_names.index(label), label, values)
    parquet.write_table(table, folder / name, store_schema=False, **options)


def test_sixty_million_run_length_rows_are_counted_without_being_held(folder, reseal, defused, tmp_path):
    rows, name = 60_000_000, "microdata.parquet"
    schema = parquet.read_schema(folder / name)
    values = {"smoke": "no", "age": "young", "unbiased": "a"}
    group = pa.table({one.name: pa.DictionaryArray.from_arrays(np.zeros(1 << 20, np.int32), [values[one.name]])
                      for one in schema})  # fmt: skip
    with parquet.ParquetWriter(folder / name, group.schema, compression="snappy", store_schema=False) as writer:
        for at in range(0, rows, 1 << 20):
            writer.write_table(group.slice(0, min(1 << 20, rows - at)), row_group_size=1 << 20)
    assert (folder / name).stat().st_size < 500_000
    reseal(folder, lambda found: found["published"].update(rows=rows))
    _, verified = defused(pack(folder, tmp_path / "bomb.zip"))
    assert verified.startswith("VerificationError")


def test_more_rows_of_microdata_than_can_be_read_are_refused(folder, reseal):
    reseal(folder, lambda found: found["published"].update(rows=1 << 60))
    with pytest.raises(BundleError, match="rows of microdata"):
        mg.Release.load(folder)


def test_a_report_that_unpacks_to_gibibytes_is_not_unpacked(folder, reseal, defused, tmp_path):
    size = 1 << 30
    reseal(folder, lambda found: found["files"]["report.html"].update(bytes=size))
    path = pack_with(folder, tmp_path / "bomb.zip", "report.html", bytes(1 << 24), size >> 24)
    assert path.stat().st_size < 8 << 20
    load, verified = defused(path)
    assert load == "read"
    assert verified == "VerificationError: release.json gives report.html an impossible length"


def test_a_file_longer_than_its_numbers_can_be_is_not_unpacked(folder, reseal, defused, tmp_path):
    size, name = 700 << 20, "measurements.parquet"
    reseal(folder, lambda found: found["files"][name].update(bytes=size))
    path = pack_with(folder, tmp_path / "bomb.zip", name, bytes(1 << 24), size >> 24)
    _, verified = defused(path)
    assert verified == f"VerificationError: release.json gives {name} an impossible length"


@pytest.mark.parametrize("text", [b"{}, ", b"[], ", b"[[[[", b'{"":', b"0.5, ", b'"", '])
def test_a_manifest_of_millions_of_values_is_not_parsed(folder, defused, tmp_path, text):
    chunk = text * (1 << 20)
    path = pack_with(folder, tmp_path / "bomb.zip", "release.json", b"[" + chunk, (180 << 20) // len(chunk))
    assert path.stat().st_size < 1 << 20
    load, _ = defused(path)
    assert load.startswith("BundleError: release.json ")


def test_a_long_manifest_in_a_folder_is_not_parsed_either(folder, defused):
    (folder / "release.json").write_bytes(b"[" + b"{}, " * (20 << 20))
    load, _ = defused(folder)
    assert load.startswith("BundleError: release.json has more lists")


@pytest.mark.parametrize("depth", [300, 980])
def test_values_deep_in_one_another_are_refused(folder, depth):
    text = (folder / "release.json").read_text()
    (folder / "release.json").write_text(text.replace('"tables": [', f'"tables": [{"[" * depth}{"]" * depth},', 1))
    with pytest.raises(BundleError):
        mg.Release.load(folder)


def attributes(found, **declared):
    found["spec"]["attributes"].update(declared)


def test_attributes_of_long_ranges_are_refused_together(folder, reseal, defused):
    reseal(folder, lambda found: attributes(found, **{f"x{i}": {"range": [0, 99999]} for i in range(100)}))
    load, verified = defused(folder)
    assert "more than 2,097,152 values together" in load
    assert verified.startswith("VerificationError")


def test_a_map_that_rules_out_the_square_of_its_values_is_refused(folder, reseal, defused):
    values = [str(number) for number in range(6000)]
    there = {"values": values}
    here = {"values": values, "determines": {"there": dict(zip(values, values, strict=True))}}
    reseal(folder, lambda found: attributes(found, here=here, there=there))
    load, _ = defused(folder)
    assert "rules out more than" in load


def test_a_long_value_is_not_repeated_in_every_cell(folder, reseal, defused):
    def change(found):
        attributes(found, age={"values": ["young", "middle", "o" * 1_000_000]}, many={"range": [0, 9999]})

    reseal(folder, change)
    load, _ = defused(folder)
    assert "1000000 characters" in load


@pytest.mark.parametrize("digits", ["9" * 300_000, "1/" + "9" * 300_000, "0." + "3" * 300_000])
@pytest.mark.parametrize("place", ["epsilon", "scale", "cost"])
def test_numbers_of_many_digits_are_refused(folder, reseal, defused, digits, place):
    def change(found):
        if place == "epsilon":
            found["spec"]["privacy"]["epsilon"] = digits
        elif place == "scale":
            found["events"][0]["noise"]["scale"] = digits
        else:
            found["guarantee"]["cost"]["epsilon"] = digits

    reseal(folder, change)
    load, verified = defused(folder)
    assert place == "cost" or load.startswith("BundleError")
    assert verified.startswith("VerificationError")
    assert len(load) + len(verified) < 2000


def test_one_long_text_in_a_dictionary_is_not_repeated(folder, reseal, defused):
    name = "measurements.parquet"
    table = parquet.read_table(folder / name)
    long = pa.DictionaryArray.from_arrays(np.zeros(len(table), np.int32), ["x" * (200 << 20)])
    replaced(folder, name, {"smoke": long}, compression="snappy", write_statistics=False)
    reseal(folder)
    _, verified = defused(pack(folder, tmp := folder.parent / "bomb.zip"))
    assert tmp.stat().st_size < 2 << 20
    assert verified.startswith("VerificationError")


def test_texts_by_differences_are_not_repeated(folder, reseal, defused):
    """Every value is the one before: a long text is stored once, and would be made for each row."""
    name, rows = "microdata.parquet", 1024
    table = pa.table({"smoke": ["x" * (1 << 20)] * rows, "age": ["old"] * rows, "unbiased": ["a"] * rows})
    parquet.write_table(
        table,
        folder / name,
        use_dictionary=False,
        column_encoding="DELTA_BYTE_ARRAY",
        compression="snappy",
        store_schema=False,
        write_statistics=False,
        data_page_size=1 << 33,
    )
    reseal(folder, lambda found: found["published"].update(rows=rows))
    load, _ = defused(folder)
    assert load.startswith("BundleError")


@pytest.mark.parametrize("codec", ["gzip", "zstd", "brotli"])
def test_pages_are_unpacked_only_as_releases_pack_them(folder, reseal, codec):
    name = "measurements.parquet"
    replaced(folder, name, {}, compression=codec)
    reseal(folder)
    with pytest.raises(BundleError, match="not a readable Parquet file of a release"):
        mg.Release.load(folder)


def test_thousands_of_row_groups_or_columns_are_refused(folder, reseal, defused):
    name = "measurements.parquet"
    table = parquet.read_table(folder / name)
    with parquet.ParquetWriter(folder / name, table.schema, store_schema=False) as writer:
        writer.write_table(table)
        for _ in range(3000):
            writer.write_table(table.slice(0, 0))
    reseal(folder)
    load, _ = defused(folder)
    assert load.startswith("BundleError")
    for number in range(3000):
        table = table.append_column(f"x{number}", pa.array(np.zeros(len(table))))
    parquet.write_table(table, folder / name, store_schema=False)
    reseal(folder)
    assert defused(folder)[1].startswith("VerificationError")


def test_a_directory_of_a_million_names_is_not_read(defused, tmp_path):
    entry = zipfile.ZipInfo("a.csv")
    path = tmp_path / "bomb.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(entry, b"")
    whole = path.read_bytes()
    start, end = whole.index(b"PK\x01\x02"), whole.index(b"PK\x05\x06")
    one, count = whole[start:end], 1_000_000
    tail = bytearray(whole[end:])
    tail[8:12] = b"\xff\xff\xff\xff"
    tail[12:16] = (len(one) * count).to_bytes(4, "little")
    path.write_bytes(whole[:start] + one * count + bytes(tail))
    load, _ = defused(path)
    assert load.endswith("is neither the folder nor the .zip file of a release")


def test_overlapping_entries_unpack_to_no_more_than_they_announce(folder, tmp_path):
    """Many names for the same packed bytes: their lengths count as often as they are named."""
    path = pack_with(folder, tmp_path / "bomb.zip", "zeros.csv", bytes(1 << 24), 60)
    whole = path.read_bytes()
    end = whole.rindex(b"PK\x05\x06")
    start = whole.rindex(b"PK\x01\x02", 0, end)
    entry = whole[start:end]
    entries = b"".join(entry.replace(b"zeros.csv", f"zero{number}.csv".encode()) for number in range(6))
    tail = bytearray(whole[end:])
    first = int.from_bytes(tail[16:20], "little")
    count = int.from_bytes(tail[8:10], "little") + 5
    tail[8:12] = count.to_bytes(2, "little") * 2
    tail[12:16] = (start - first + len(entries)).to_bytes(4, "little")
    path.write_bytes(whole[:start] + entries + bytes(tail))
    with pytest.raises(BundleError, match="4 GiB"):
        mg.Release.load(path)


def test_parts_of_a_large_release_that_hold_everything_are_refused(folder):
    from margrave.planning.planner import make_plan
    from margrave.publish.bundle.parts.layout import PART_ROWS, Layout
    from margrave.spec.spec import Spec

    spec = {
        "attributes": {name: {"range": [1, 1000]} for name in "abcde"},
        "release": {"all": 2, "strategy": "margins"},
        "privacy": {"epsilon": 1},
    }
    plan = make_plan(Spec.from_dict(spec))
    stated = Layout.of(plan).as_dict()
    assert Layout.stated(plan, stated) == Layout.of(plan)
    assert sum(Layout.of(plan).tables.sizes) > 4 * PART_ROWS
    with pytest.raises(ValueError, match=r"^$"):
        Layout.stated(plan, stated | {"tables": [1]})


def test_a_file_that_only_needs_its_checksum_is_read_in_chunks(folder, monkeypatch):
    from margrave.publish.bundle.untrusted import reading

    monkeypatch.setattr(reading, "CHUNK", 7)
    with reading.opened(folder) as files:
        content = files.read("cube.csv", 1 << 20)
        assert Checksum(*files.digest("cube.csv", 1 << 20)) == Checksum.of(content)
        with pytest.raises(BundleError, match="longer than the release says"):
            files.digest("cube.csv", len(content) - 1)
