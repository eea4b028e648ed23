"""Drafting a spec from a profile, for a person to correct."""

from __future__ import annotations

from dataclasses import dataclass

from margrave.crossing import ColumnProfile, Profile
from margrave.publish.drafts.bearable import Proposal, proposed
from margrave.publish.drafts.rules import drafted_rule
from margrave.spec.attributes import name_problem
from margrave.spec.texts import names_ids, text_problem, texts_problem
from margrave.spec.toml import dump, key, quote

_WARNING = """\
# THIS DRAFT WAS READ FROM CONFIDENTIAL DATA.
# The values below may themselves disclose something about the people in the data: a rare value, an extreme age.
# Check every line marked "read from data" against public knowledge (a questionnaire, a codebook, a census), replace
# what is not public, and only then remove 'draft = true'. Nothing is released from a draft."""

_PUBLIC = """\
# This draft was made from a codebook, and no data was opened. Check that the codebook is public."""

_MARK = "# read from data"
_LABELS = "# from the labels of the file"
_CODEBOOK = "# from the codebook"
_UNUSED = {
    "identifier": "it looks like an identifier",
    "empty": "it is empty",
    "days": "it holds dates in another order; write them as 2024-12-31 is written",
    "commas": 'it holds numbers with commas, maybe between thousands; write them without, or set decimal = "," above',
}


@dataclass(frozen=True)
class Draft:
    """The text of a draft, and how many records it was read from. Not private until a person has checked it."""

    text: str
    records: int | None


def draft_spec(profile: Profile) -> str:
    """The TOML text of a draft spec."""
    return draft_of(profile).text


def draft_of(profile: Profile, *, codebook: bool = False) -> Draft:
    """A draft spec of what a profile tells; ``codebook``: it tells what a codebook says, and nothing of any data."""
    unit = _unit(profile)
    rules = {column.name: _declared(column) for column in profile.columns}
    sizes = [(column.name, size) for column in profile.columns if (size := _size(rules[column.name])) is not None]
    of_unit = 1 if unit is None or unit.repeats is None else unit.repeats.usual
    tables = proposed(sizes, profile.records, of_unit)
    lines = [
        *([_PUBLIC] if codebook else [_WARNING, "draft = true"]),
        "",
        "[data]",
        f"source = {quote(profile.source)}",
        *(f"{name} = {quote(value)}" for name, value in profile.dialect.as_dict().items()),
        "# confidential = false   # only where everyone may see the data as it is",
        _unit_line(profile),
        "",
        "[attributes]",
        *(_attribute_line(column, rules[column.name], codebook) for column in profile.columns),
        "",
        "[release]",
        *_table_lines(tables, len(sizes)),
        "# expected_size = 50000   # about how many records there will be, if that is public: for small budgets",
        "",
        "[privacy]",
        "epsilon = 1.0",
        "",
    ]
    return Draft("\n".join(lines), profile.records)


def _repeated(profile: Profile) -> list[ColumnProfile]:
    """The columns that may tell people apart and whose values repeat, those that are called ids first."""
    found = [column for column in profile.columns if column.repeats is not None and column.repeats.most > 1]
    return sorted((column for column in found if not text_problem(column.name)), key=lambda one: not _called_id(one))


def _called_id(column: ColumnProfile) -> bool:
    return names_ids(column.name, many=column.distinct is None)


def _unit(profile: Profile) -> ColumnProfile | None:
    """The column of ids that repeat, by its name."""
    return next((column for column in _repeated(profile) if _called_id(column)), None)


def _unit_line(profile: Profile) -> str:
    unit = next(iter(_repeated(profile)), None)
    if unit is None or unit.repeats is None:
        return '# unit = { column = "person_id", max_records = 3 }   # where one person may own several records'
    written = dump({"column": unit.name, "max_records": unit.repeats.usual})
    if not _called_id(unit):
        return (
            f"# unit = {written}   {_MARK}: these values repeat. DECIDE whether they tell people apart:\n"
            "#   if so, take the first # away. Without a unit each record is protected, not each person."
        )
    return (
        f"unit = {written}   {_MARK}: ids repeat, so one person owns several records.\n"
        "#   DECIDE max_records: it keeps so many records of each, and more noise hides more of them."
    )


def _table_lines(tables: Proposal, declared: int) -> list[str]:
    remark = f"   # {tables.remark}" if tables.remark else "   # every table of up to so many attributes"
    listed = [f"tables = {dump([list(table) for table in tables.tables])}{remark}"] if tables.tables else []
    ways = min(tables.all_ways, max(1, declared)) if listed else max(1, min(tables.all_ways, max(1, declared)))
    return [*listed, *([f"all = {ways}   # every table of up to so many attributes"] if ways else [])]


def _declared(column: ColumnProfile) -> dict[str, object] | str:
    """The entry of the codebook, or why there is none."""
    if wrong := name_problem(column.name) or text_problem(column.name):
        return wrong
    if column.kind in ("integers", "numbers") and _called_id(column) and not column.labels:
        return _UNUSED["identifier"]
    if column.kind in _UNUSED:
        return _UNUSED[column.kind]
    rule = drafted_rule(column)
    if rule is None:
        return "declare its values by hand"
    if column.has_missing:
        rule = {**rule, "missing": "missing"}
    return {"title": column.title, **rule} if column.title and text_problem(column.title) is None else rule


def _size(rule: dict[str, object] | str) -> int | None:
    """About how many values a rule has."""
    match rule:
        case {"values": list(values)}:
            return len(values) + ("missing" in rule)
        case {"range": [int(low), int(high)]}:
            return high - low + 1 + ("missing" in rule)
        case {"bins": list(edges)}:
            return len(edges) - 1 + ("missing" in rule)
    return None


def _attribute_line(column: ColumnProfile, rule: dict[str, object] | str, codebook: bool) -> str:
    if isinstance(rule, str):
        return f"# {key(column.name)}: left out: {rule}"
    odd = "" if texts_problem(column.values) is None else "; values that no file can hold are left out"
    return f"{key(column.name)} = {dump(rule)}   {_origin(column, codebook)}{odd}"


def _origin(column: ColumnProfile, codebook: bool) -> str:
    """Where the values of a line come from: from public labels, from confidential cells, or from both."""
    if codebook:
        return _CODEBOOK
    if column.public:
        return _LABELS
    if not column.labels:
        return _MARK
    cells = [value for value in column.values if value not in column.labels]
    return f"{_LABELS}, but {', '.join(quote(value) for value in cells)}: read from data"
