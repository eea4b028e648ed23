"""What a bundle says must follow from it: whoever changes that, and makes the checksums fit, is found."""

import json
from dataclasses import replace

import numpy as np
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import margrave as mg
from margrave.cli.app import app
from margrave.errors import VerificationError
from margrave.publish.bundle.account import Checksum
from margrave.publish.bundle.bundle import bundle_files
from margrave.publish.bundle.parts import layout
from margrave.publish.bundle.parts.description import metadata
from margrave.publish.bundle.parts.names import table_stems
from margrave.publish.bundle.parts.parts import csv_bytes, cube_rows, parquet_bytes
from margrave.publish.release import Release
from margrave.publish.verification.verify import verify
from tests.publish.conftest import SPECS

pytestmark = pytest.mark.slow


@pytest.fixture
def private(data, tmp_path):
    """A private release, and its bundle."""
    out = mg.release(SPECS["laplace"], data)
    return out, out.save(tmp_path / "private")


def fails(folder, match, **options):
    with pytest.raises(VerificationError, match=match) as caught:
        verify(folder, **options)
    assert caught.value.exit_code == 4
    assert "\n" not in str(caught.value)


def test_a_report_with_a_script_and_invented_numbers_is_found(folder, reseal):
    path = folder / "report.html"
    path.write_text(path.read_text(encoding="utf-8").replace("</main>", "<script>alert(1)</script></main>"))
    reseal(folder)
    fails(folder, r"report\.html differs from the one that follows from the release, from line \d+ on")


def test_another_number_in_the_report_is_found(folder, reseal):
    path = folder / "report.html"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("does not smoke", "does smoke", 1), encoding="utf-8")
    reseal(folder)
    fails(folder, r"report\.html differs")


def test_a_report_that_goes_on_after_its_end_is_found_however_long(folder, reseal):
    path = folder / "report.html"
    whole = path.read_bytes()
    path.write_bytes(whole + b"\n<p>Nothing is private here.</p>")
    reseal(folder)
    fails(folder, r"report\.html differs .* at its end")
    path.write_bytes(whole + b" " * (3 * len(whole) + (1 << 20)))
    reseal(folder)
    fails(folder, r"report\.html has \d+ bytes; the one that follows has \d+")


@pytest.mark.parametrize("software", ["margrave 0.0", "margrave 9.9.9"])
def test_words_are_found_to_be_others_whatever_software_is_named(folder, reseal, software):
    def change(found):
        found["software"] = software
        found["guarantee"]["words"][2] = "In plain words: nothing can ever be learned about you."

    reseal(folder, change)
    fails(folder, r"guarantee\.words\[2\] is 'In plain words: nothing can .* follows from the release as 'In plain")


def test_another_sentence_on_composition_is_found(folder, reseal):
    reseal(folder, lambda found: found.update(composition="This is the only release from the data."))
    fails(folder, r"release\.json: composition is 'This is the only release .* and follows from the release as 'Not tr")


def shrunk(folder, factor=100.0):
    """Make all error bars so many times smaller, in every file that has them."""
    found = json.loads((folder / "release.json").read_text(encoding="utf-8"))
    tables = []
    for one in found["tables"]:
        table = pq.read_table(folder / one["parquet"])
        numbers = table.to_pandas()
        width = np.round((numbers["high"] - numbers["count"]) / factor, 6)
        numbers["std_error"] = np.round(numbers["std_error"] / factor, 6)
        low = numbers["count"] - width
        numbers["low"] = np.round(low if "microdata.csv" not in found["files"] else np.maximum(low, 0), 6) + 0.0
        numbers["high"] = np.round(numbers["count"] + width, 6)
        table = type(table).from_pandas(numbers, preserve_index=False).replace_schema_metadata(None)
        (folder / one["parquet"]).write_bytes(parquet_bytes(table))
        (folder / one["csv"]).write_bytes(csv_bytes(table))
        tables.append((tuple(one["table"]), table))
    return tables


def with_bars(folder, reseal, factor):
    """The bundle with error bars so many times smaller, and with a cube, a manifest and a report that fit these."""
    tables = shrunk(folder, factor)
    total = json.loads((folder / "release.json").read_text(encoding="utf-8"))["published"]
    if total is not None:
        said = {name: round(number / factor, 6) for name, number in total["bars"]["total"].items()}
        reseal(folder, lambda found: found["published"]["bars"].update(total=said))
    else:
        reseal(folder)
    out = Release.load(folder)
    (folder / "cube.csv").write_bytes(b"".join(cube_rows(out.domain, tables)))
    files = dict(bundle_files(out, None))
    (folder / "report.html").write_bytes(files["report.html"])
    sums = {path.relative_to(folder).as_posix(): Checksum.of(path.read_bytes()) for path in folder.rglob("*.csv")}
    for name, content in metadata(out, None, sums):
        (folder / name).write_bytes(content)
    reseal(folder)


def test_unbiased_error_bars_a_hundred_times_smaller_are_found(releases, reseal, tmp_path):
    folder = releases["raw"].save(tmp_path / "raw")
    with_bars(folder, reseal, 100)
    fails(folder, r"tables/001-smoke-age\.parquet, row 1: std_error is .* follows from the measurements")


def test_simulated_error_bars_a_hundred_times_smaller_are_found(folder, reseal):
    with_bars(folder, reseal, 100)
    fails(folder, r"tables/001-smoke-age\.parquet, row \d+: std_error .* smaller than any that are simulated")


def test_simulated_error_bars_a_tenth_smaller_are_found_when_simulated_again(folder, reseal):
    with_bars(folder, reseal, 1.1)
    verify(folder)
    fails(folder, r"tables/001-smoke-age\.parquet, row \d+: std_error is .* and simulated again", bars=True)


def test_simulated_bars_are_found_to_follow_from_their_seed(out, tmp_path):
    place = out.save(tmp_path / "out")
    left = [one.part for one in verify(place).not_checked]
    assert left == (["bars"] if out.publication is not None else [])
    steps = []
    assert verify(place, lambda done, total: steps.append((done, total)), bars=True).not_checked == ()
    assert steps[-1][0] == steps[-1][1]


def test_another_seed_of_error_bars_is_found_when_they_are_simulated_again(folder, reseal):
    reseal(folder, lambda found: found["published"]["bars"].update(seed="0" * 32))
    fails(folder, "and simulated again", bars=True)


def test_large_bundles_are_found_to_say_what_follows(out, tmp_path, monkeypatch):
    monkeypatch.setattr(layout, "MOST_TABLES", 0)
    monkeypatch.setattr(layout, "PART_ROWS", 8)
    assert verify(out.save(tmp_path / "out.zip"), bars=True).not_checked == ()


def test_private_bundles_verify_with_their_bars(private):
    assert verify(private[1], bars=True).not_checked == ()


def test_seeds_of_error_bars_are_drawn_apart_from_the_noise(private, tmp_path):
    """The same noisy answers get other seeds, which no generator of noise can have given."""
    out, folder = private
    seeds = [json.loads((folder / "release.json").read_text(encoding="utf-8"))["published"]["bars"]["seed"]]
    for name in ("one", "two"):
        place = Release(out.plan, out.measured).save(tmp_path / name)
        verify(place)
        seeds.append(json.loads((place / "release.json").read_text(encoding="utf-8"))["published"]["bars"]["seed"])
    assert len(set(seeds)) == 3
    assert all(len(seed) == 32 for seed in seeds)


def test_a_loaded_release_keeps_the_seed_and_the_form_of_its_bars(private, tmp_path):
    out, folder = private
    loaded = Release.load(folder)
    assert loaded.bars_seed == out.bars_seed
    assert loaded.table("smoke", level=0.5).equals(out.table("smoke", level=0.5))
    older = replace(loaded, origin=replace(loaded.origin, form=0))
    place = older.save(tmp_path / "again")
    assert json.loads((place / "release.json").read_text(encoding="utf-8"))["forms"]["bars"] == 0
    assert verify(place, bars=True).not_checked == ()


def other_forms(found):
    found["forms"] = {"words": 77, "report": 77, "bars": 77}
    found["guarantee"]["words"][0] = "Das Gesagte."


def test_other_forms_are_said_not_to_be_checked_and_do_not_fail(folder, reseal):
    path = folder / "report.html"
    path.write_text("<p>Another report.</p>")
    shrunk(folder, 1.5)
    reseal(folder, other_forms)
    out = Release.load(folder)
    tables = [(margin, pq.read_table(folder / f"{stem}.parquet")) for margin, stem in table_stems(out.plan).items()]
    (folder / "cube.csv").write_bytes(b"".join(cube_rows(out.domain, tables)))
    reseal(folder, other_forms)
    found = verify(folder, bars=True)
    assert [one.part for one in found.not_checked] == ["words", "report", "bars"]
    assert all("made by margrave 0." in one.reason and "in form 77" in one.reason for one in found.not_checked)
    shown = CliRunner().invoke(app, ["verify", str(folder), "--bars"])
    assert shown.exit_code == 0
    assert "Not checked: the report, made by margrave" in shown.stdout
    said = json.loads(CliRunner().invoke(app, ["verify", str(folder), "--bars", "--json"]).stdout)
    assert [one["part"] for one in said["not_checked"]] == ["words", "report", "bars"]


def test_bars_that_were_not_simulated_again_are_named(folder):
    shown = CliRunner().invoke(app, ["verify", str(folder)])
    assert "Not checked: the simulated error bars" in shown.stdout
    assert "Not checked" not in CliRunner().invoke(app, ["verify", str(folder), "--bars"]).stdout


def test_a_file_that_such_a_release_does_not_have_is_found_though_it_is_listed(folder, reseal):
    (folder / "more.html").write_text("<p>More.</p>")
    reseal(folder, lambda found: found["files"].update({"more.html": {"bytes": 12, "sha256": "0" * 64}}))
    reseal(folder)
    fails(folder, r"release\.json lists 'more\.html', which such a release does not have")


@pytest.mark.parametrize("software", ["margrave \x1b[31m", "other 1", "margrave", "margrave 1\nverified"])
def test_software_is_the_name_of_a_margrave(folder, reseal, software):
    reseal(folder, lambda found: found.update(software=software))
    fails(folder, "software is .*, not the name of a Margrave")
    with pytest.raises(VerificationError) as caught:
        verify(folder)
    assert str(caught.value).isprintable()
