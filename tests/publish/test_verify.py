"""Verification notices every change: to a byte, to a file, and to what the files say while their checksums fit."""

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from zipfile import ZipFile

import numpy as np
import pyarrow.parquet as pq
import pytest

import margrave as mg
from margrave.crossing import Answer
from margrave.errors import VerificationError
from margrave.noise import DiscreteGaussian
from margrave.publish.bundle.parts.parts import csv_bytes, parquet_bytes
from margrave.publish.release import Release
from margrave.publish.verification.verify import verify
from margrave.spec.sections import DataSection, Unit
from tests.facts.test_planning import with_facts
from tests.shapes import frame_of, spec_of

pytestmark = pytest.mark.slow


def fails(folder, match):
    with pytest.raises(VerificationError, match=match) as caught:
        verify(folder)
    assert caught.value.exit_code == 4


def test_a_sound_bundle_passes(out, tmp_path):
    steps = []
    found = verify(out.save(tmp_path / "out"), lambda done, total: steps.append((done, total)))
    assert found.cost == out.plan.guarantee
    assert found.margins >= 1
    # A step for each file whose checksum is compared, and one for each table that is rebuilt.
    total = found.files - 1 + found.tables
    assert steps == [(done, total) for done in range(1, total + 1)]


def test_a_changed_byte_in_any_file_is_named(folder):
    for path in sorted(folder.rglob("*.*")):
        name = path.relative_to(folder).as_posix()
        content = path.read_bytes()
        middle = len(content) // 2
        path.write_bytes(content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :])
        fails(folder, name)
        path.write_bytes(content)
    verify(folder)


def test_a_missing_file_is_named(folder):
    for path in sorted(folder.rglob("*.*")):
        if path.name != "release.json":
            content = path.read_bytes()
            path.unlink()
            fails(folder, f"{path.name} is missing")
            path.write_bytes(content)


def test_an_extra_file_is_named(folder):
    (folder / "extra.csv").write_text("x")
    fails(folder, r"'extra\.csv' is in the bundle")


def rewrite(folder, stem, change, csv=True):
    """Change a column of a part, in its Parquet file and also in its CSV file."""
    table = pq.read_table(folder / f"{stem}.parquet")
    table = change(table)
    (folder / f"{stem}.parquet").write_bytes(parquet_bytes(table))
    if csv:
        (folder / f"{stem}.csv").write_bytes(csv_bytes(table))


def plus_one(name):
    def change(table):
        frame = table.to_pandas()
        frame.loc[1, name] += 1
        return type(table).from_pandas(frame, preserve_index=False).replace_schema_metadata(None)

    return change


@pytest.mark.parametrize("name", ["count", "std_error", "low", "high", "unbiased", "variance"])
def test_a_changed_number_is_found_though_checksums_fit(folder, reseal, name):
    rewrite(folder, "tables/001-smoke-age", plus_one(name))
    reseal(folder)
    # Error bars of published counts are simulated once and kept; the cube holds them a second time.
    simulated = name in ("std_error", "high")
    row = rf"tables/001-smoke-age\.parquet, row 2: {name} is .* follows from the measurements"
    fails(folder, r"cube\.csv and the tables differ|row 2: low is" if simulated else row)


def test_csv_and_parquet_must_say_the_same(folder, reseal):
    path = folder / "tables/001-smoke-age.csv"
    path.write_text(path.read_text().replace("smoke,age", "age,smoke"))
    reseal(folder)
    fails(folder, r"001-smoke-age\.csv and .*\.parquet differ")


def test_the_cube_must_say_the_same(folder, reseal):
    path = folder / "cube.csv"
    path.write_text(path.read_text().replace("no,young,*", "yes,young,*"))
    reseal(folder)
    fails(folder, r"cube\.csv and the tables differ")


def test_changed_measurements_contradict_the_tables(folder, reseal):
    rewrite(folder, "measurements", plus_one("value"))
    reseal(folder)
    fails(folder, r"tables/001-smoke-age\.parquet, row .* follows from the measurements")


def test_columns_of_another_type_are_found(folder, reseal):
    rewrite(folder, "tables/001-smoke-age", lambda table: table.rename_columns(["x", *table.column_names[1:]]))
    reseal(folder)
    fails(folder, "does not have the columns smoke, age")


def cheaper(found):
    found["guarantee"]["cost"] = {"epsilon": "0.5"}


def cheaper_groups(found):
    found["guarantee"]["groups"]["5"] = {"epsilon": "0.5"}


def no_groups(found):
    found["guarantee"]["groups"] = {}


def nonsense(found):
    found["guarantee"]["cost"] = "little"


def other_unit(found):
    found["guarantee"]["unit"]["records"] = 3


def other_words(found):
    found["guarantee"]["words"][0] = "The release satisfies everything."


def less_noise(found):
    found["events"][0]["noise"]["scale"] = "0.01"


def over_budget(found):
    found["spec"]["privacy"]["epsilon"] = "0.5"


def other_neighbours(found):
    found["spec"]["privacy"]["neighbours"] = "replace"


def no_warning(found):
    del found["warning"]


def other_table(found):
    found["tables"][0]["table"] = ["smoke"]


def mixed_noise(found):
    found["events"][0]["noise"] = {"kind": "discrete-gaussian", "sigma_squared": "4"}


def fewer_events(found):
    del found["events"][1:]


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (cheaper, "states the cost as ε = 0.5; the events give"),
        (cheaper_groups, "groups of 5"),
        (no_groups, "groups of 2, 5 and 10"),
        (nonsense, "the cost is not readable"),
        (other_unit, "guarantee.unit.records is 3 and follows from the release as 1"),
        (other_words, r"guarantee.words\[0\] is .* follows from the release as"),
        (less_noise, "states the cost"),
        (over_budget, "more than the budget of ε = 0.5"),
        (other_neighbours, "protects something else"),
        (no_warning, "warning is missing, and follows"),
        (other_table, r"tables\[0\].table is .* follows from the release as"),
        (mixed_noise, "mixes two kinds of noise"),
        (fewer_events, r"measurements\.parquet has 12 rows where the plan has 6"),
    ],
)
def test_a_contradiction_in_the_manifest_is_found(folder, reseal, change, match):
    reseal(folder, change)
    fails(folder, match)


def test_a_changed_delta_is_found(releases, reseal, tmp_path):
    folder = releases["gauss"].save(tmp_path / "out")
    reseal(folder, lambda found: found["guarantee"]["guarantee"].update(delta="1e-9"))
    fails(folder, "states the guarantee as .* δ = 1e-9; the events give")


def test_single_cells_that_an_older_version_priced_too_high_verify_and_too_low_do_not(reseal, tmp_path):
    """Stated is ρ = 0.5, and the moves of the cells cost 0.21: more than true is safe, less is not."""
    with ZipFile(Path(__file__).parent / "golden" / "v1-cells.zip") as file:
        file.extractall(tmp_path / "out")
    assert float(verify(tmp_path / "out").cost.rho) == pytest.approx(0.2115, abs=1e-4)
    for key in ("cost", "guarantee"):
        stated = json.loads((tmp_path / "out" / "release.json").read_text(encoding="utf-8"))["guarantee"][key]
        reseal(tmp_path / "out", lambda found, key=key: found["guarantee"][key].update(rho="0.2"))
        fails(tmp_path / "out", f"states the {key} as ρ = 0.2; the events give")
        reseal(tmp_path / "out", lambda found, key=key, stated=stated: found["guarantee"].update({key: stated}))
    reseal(tmp_path / "out", lambda found: found.update(forms={"words": 1, "report": 1, "bars": 1}))
    fails(tmp_path / "out", "states the cost as ρ = about 0.5")


def test_tables_that_disagree_are_found():
    import pyarrow as pa

    from margrave.algebra.domain import Attribute, Domain
    from margrave.publish.verification.tables import _check_agreement

    domain = Domain((Attribute("a", ("0", "1")), Attribute("b", ("0", "1")), Attribute("c", ("0", "1"))))

    def part(counts):
        return pa.table({"count": counts, "unbiased": [float(count) for count in counts]})

    one, other = part([1, 2, 3, 4]), part([3, 1, 1, 5])
    assert _check_agreement(domain, [(("a", "b"), "one", one), (("a", "c"), "two", part([2, 1, 3, 4]))]) == 2
    with pytest.raises(VerificationError, match="two and one disagree about a"):
        _check_agreement(domain, [(("a", "b"), "one", one), (("a", "c"), "two", other)])
    with pytest.raises(VerificationError, match="two and one disagree about total"):
        _check_agreement(domain, [(("a",), "one", part([1, 2])), (("b",), "two", part([1, 3]))])


FACTS = with_facts(spec_of((2, 2), ["ab"], strategy="margins"), ["a"])
PLAIN = replace(FACTS, public=(), induced=None)
ZERO = ({"a": frozenset("0"), "b": frozenset("0")},)


@pytest.fixture(scope="module")
def relative():
    """A release relative to a public fact."""
    return mg.release(FACTS, frame_of(FACTS.domain, np.array([[3, 4], [5, 6]])), seed=1)


def gaussian(plan):
    (one,) = plan.measurements
    return replace(plan, measurements=(replace(one, noise=DiscreteGaussian(Fraction(1))),))


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda plan: replace(plan, spec=PLAIN), "publishes other tables exactly"),
        (lambda plan: replace(plan, exact=(*plan.exact, ("b",))), "publishes other tables exactly"),
        (lambda plan: replace(plan, protection=replace(plan.protection, records=2)), r"data\.unit exclude each other"),
        (lambda plan: replace(plan, spec=replace(FACTS, impossible=ZERO, induced="markov")), "every cell is possible"),
        (gaussian, "more than the budget of ε = 1"),
    ],
)
def test_a_plan_that_does_not_follow_from_its_spec_is_found(relative, tmp_path, change, match):
    """Above all one whose facts were dropped: it would state half of what it costs."""
    plan = change(relative.plan)
    exact = {margin: relative.measured.exact.get(margin, np.array([8, 10])) for margin in plan.exact}
    answers = tuple(Answer(one, relative.measured.answers[0].outputs) for one in plan.measurements)
    fails(Release(plan, replace(relative.measured, answers=answers, exact=exact)).save(tmp_path / "out"), match)


def test_facts_that_are_not_listed_as_disclosed_are_found(relative, reseal, tmp_path):
    """Also where another version wrote the bundle, whose words need not be those of this one."""
    folder = relative.save(tmp_path / "out")
    reseal(folder, lambda found: found.update(software="margrave 0.0", forms={"words": 0, "report": 0, "bars": 0}))
    assert [one.part for one in verify(folder).not_checked] == ["report", "bars"]
    reseal(folder, lambda found: found.pop("disclosed"))
    fails(folder, "disclosed is missing, and follows from the release")


def test_units_are_those_that_the_plan_protects(tmp_path):
    spec = replace(PLAIN, neighbours="replace", data=DataSection(unit=Unit("person", 2)))
    data = frame_of(spec.domain, np.array([[3, 4], [5, 6]])).assign(person=range(18))
    out = mg.release(spec, data, seed=1)
    verify(out.save(tmp_path / "out"))
    total = replace(out.measured, exact={(): np.array(18)})
    fails(Release(replace(out.plan, exact=((),)), total).save(tmp_path / "total"), "publishes other tables exactly")


def test_a_seeded_release_cannot_be_passed_off_unnoticed(folder):
    found = json.loads((folder / "release.json").read_text(encoding="utf-8"))
    found["private"] = True
    (folder / "release.json").write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    fails(folder, "its digest does not fit")
