"""Reading the spec of a join."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

from margrave.budget.units import Budget, PureDP
from margrave.errors import UsageError
from margrave.planning.join.ids import CASES, FORMS, ISO, PART_KINDS, IdPart, tells_days
from margrave.planning.join.owners import MOST_PEOPLE, Helper, Owner, is_key, is_name
from margrave.spec.attributes import read_attributes
from margrave.spec.choices import NEIGHBOURS
from margrave.spec.codebook import Codebook
from margrave.spec.dialect import DIALECT_KEYS, read_dialect
from margrave.spec.public import SpecFolder
from margrave.spec.reader import Node
from margrave.spec.sections import read_budget, read_release
from margrave.spec.spec import Spec

SECTIONS = ("title", "join", "owners", "helper", "attributes", "release", "privacy")
JOIN_KEYS = ("id", "deadline", "publisher")
OWNER_KEYS = ("key", "box", "columns", "dates", "at_most", "records", "neighbours", *DIALECT_KEYS)
HELPER_KEYS = ("name", "key", "box")
PART_KEYS = ("kind", "form", "case")
RELEASE_KEYS = ("tables", "all", "nonnegative", "rounding")
PRIVACY_KEYS = ("epsilon", "delta", "sizes")

Fields = dict[str, Any]


def read_join(root: Node) -> Fields | None:
    """The fields of a spec, or None where a problem was noted."""
    keys = root.table(SECTIONS)
    for section in ("join", "owners", "attributes", "privacy"):
        if section not in keys:
            root.problem(f"the section [{section}] is missing")
    title = keys["title"].text() if "title" in keys else None
    if root.problems:
        return None
    helper = _read_helper(keys["helper"]) if "helper" in keys else None
    sealed = "helper" in keys
    agreed = _read_agreed(keys["join"])
    owners = _read_owners(keys["owners"], len(agreed["id"]), sealed)
    privacy = _read_privacy(keys["privacy"], sealed)
    attributes, whose = _split(keys["attributes"], [one["name"] for one in owners])
    if root.problems:
        return None
    table = _read_table(attributes, keys.get("release"), privacy.pop("epsilon"), title or "")
    if root.problems or table is None:
        return None
    found = tuple(Owner(**one, attributes=tuple(whose[one["name"]])) for one in owners)
    return {"table": table, "owners": found, "helper": helper, **agreed, **privacy}


def _read_agreed(node: Node) -> Fields:
    keys = node.table(JOIN_KEYS)
    for absent in (key for key in JOIN_KEYS if key not in keys):
        node.needs(keys, absent)
    parts = keys["id"].items('a list such as [{ kind = "text" }, { kind = "date" }]') or [] if "id" in keys else []
    found = [_read_part(part) for part in parts]
    if "id" in keys and not found:
        keys["id"].problem("needs at least one part")
    return {
        "id": tuple(one for one in found if one is not None),
        "deadline": _read_moment(keys["deadline"]) if "deadline" in keys else None,
        "publisher": keys["publisher"].text() if "publisher" in keys else None,
    }


def _read_part(node: Node) -> IdPart | None:
    keys = node.table(PART_KEYS, 'a table such as { kind = "text" }')
    kind = (keys["kind"].choice(PART_KINDS) if "kind" in keys else None) or PART_KINDS[0]
    for key in ("form", "case"):
        if kind != "text" and key in keys:
            keys[key].problem(f"only has a meaning for text; leave it out where the kind is {kind}")
    form = (keys["form"].choice(FORMS) if "form" in keys else None) or FORMS[0]
    case = (keys["case"].choice(CASES) if "case" in keys else None) or CASES[0]
    return IdPart(kind, form, case)


def _read_moment(node: Node) -> str | None:
    """A moment: an offset date-time of TOML, or its text."""
    value = node.value
    try:
        moment = datetime.fromisoformat(value) if isinstance(value, str) else value
    except ValueError:
        moment = None
    if not isinstance(moment, datetime) or moment.tzinfo is None or moment.microsecond:
        node.wrong_type("a moment with its offset, such as 2027-01-31T12:00:00Z")
        return None
    try:
        return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except OverflowError:
        node.problem("is in no year that there is in UTC")
        return None


def _read_owners(node: Node, parts: int, sealed: bool) -> list[Fields]:
    named = node.pairs("a table with a section for each owner")
    if not sealed and len(named) != 2:
        node.problem(f"a join without a helper has two owners, not {len(named)}")
    if sealed and len(named) < 2:
        node.problem("a join has at least two owners")
    found = []
    for name, child in named.items():
        if not is_name(name):
            child.problem("an owner's name has up to 64 letters, digits, '.', '_' or '-', the first no sign")
        found.append({"name": name, **_read_owner(child, parts, sealed)})
    return found


def _read_owner(node: Node, parts: int, sealed: bool) -> Fields:
    keys = node.table(OWNER_KEYS)
    for absent in (key for key in ("key", "columns", "at_most", *(("box",) if sealed else ())) if key not in keys):
        node.needs(keys, f"{absent}; 'margrave join key' shows keys" if absent in ("key", "box") else absent)
    columns = [item.text() for item in keys["columns"].items("a list of columns") or ()] if "columns" in keys else []
    if "columns" in keys and (len(set(columns)) != parts or len(columns) != parts):
        keys["columns"].problem(f"names {len(set(columns))} columns, and the id has {parts} parts")
    if not sealed and "box" in keys:
        keys["box"].problem("only has a meaning with a helper; leave it out")
    return {
        "key": _read_key(keys.get("key")),
        "box": _read_key(keys.get("box")) if sealed else "",
        "columns": tuple(columns),
        "dates": _read_dates(keys.get("dates")),
        "at_most": _read_whole(keys.get("at_most"), MOST_PEOPLE),
        "records": _read_whole(keys["records"], 1 << 40) if "records" in keys else 1,
        "neighbours": (keys["neighbours"].choice(NEIGHBOURS) if "neighbours" in keys else None) or NEIGHBOURS[0],
        "dialect": read_dialect(keys),
    }


def _read_dates(node: Node | None) -> str:
    found = (node.text() if node is not None else None) or ISO
    if node is not None and not tells_days(found):
        node.problem('does not tell days apart: write it as "%d.%m.%Y", with a day, a month and a year once each')
    return found


def _read_helper(node: Node) -> Helper | None:
    keys = node.table(HELPER_KEYS)
    for absent in (key for key in HELPER_KEYS if key not in keys):
        node.needs(keys, absent)
    name = keys["name"].text() if "name" in keys else None
    if name is not None and not is_name(name):
        keys["name"].problem("a name has up to 64 letters, digits, '.', '_' or '-', the first no sign")
    key, box = _read_key(keys.get("key")), _read_key(keys.get("box"))
    return Helper(name, key, box) if name is not None and is_name(name) and key and box else None


def _read_key(node: Node | None) -> str:
    text = node.text() if node is not None else None
    if node is None or text is None:
        return ""
    if not is_key(text):
        node.problem("a public key is written in 64 hexadecimal digits; 'margrave join key' shows it")
        return ""
    return text


def _read_whole(node: Node | None, most: int) -> int:
    found = node.whole() if node is not None else None
    if node is not None and found is not None and not 1 <= found <= most:
        node.problem(f"must be between 1 and {most:,}")
    return found or 0


def _read_privacy(node: Node, sealed: bool) -> Fields:
    keys = node.table(PRIVACY_KEYS if not sealed else ("epsilon",))
    epsilon = keys["epsilon"].positive() if "epsilon" in keys else None
    if "epsilon" not in keys:
        node.needs(keys, "epsilon, for each cell of the table")
    delta: Fraction | None = None
    sizes: Budget | None = None
    if not sealed:
        for absent in (key for key in ("delta", "sizes") if key not in keys):
            node.needs(keys, f"{absent}: see docs/join.md" if absent == "delta" else "sizes, an epsilon and a delta")
        budget = read_budget(node, {key: keys[key] for key in ("epsilon", "delta") if key in keys})
        delta = (budget.delta or None) if budget is not None else None
        sizes = read_budget(keys["sizes"], keys["sizes"].table(("epsilon", "delta"))) if "sizes" in keys else None
        if sizes is not None and not sizes.delta:
            keys["sizes"].problem("needs a delta too: padding that is never negative has an end")
    return {"epsilon": epsilon, "delta": delta, "sizes": sizes}


def _split(node: Node, owners: list[str]) -> tuple[Node, dict[str, list[str]]]:
    """The attributes without their owners, in the order of the owners, and the names of each owner's."""
    whose: dict[str, list[str]] = {name: [] for name in owners}
    plain: dict[str, object] = {}
    for name, child in node.pairs("a table with one key for each attribute").items():
        if not isinstance(child.value, Mapping):
            child.wrong_type("a table of keys and values")
            continue
        owner = child.child("owner", child.value.get("owner"))
        chosen = owner.choice(owners) if "owner" in child.value else None
        if "owner" not in child.value:
            child.problem("needs owner, who holds this attribute")
        if chosen is not None:
            whose[chosen].append(name)
            plain[name] = {key: value for key, value in child.value.items() if key != "owner"}
    for name, names in whose.items():
        if not names:
            node.problem(f"{name} holds no attribute: whoever takes part holds one")
    ordered = {name: plain[name] for names in whose.values() for name in names}
    return Node(ordered, node.place, node.problems), whose


def _read_table(attributes: Node, release: Node | None, epsilon: Fraction | None, title: str) -> Spec | None:
    codebook, names = read_attributes(attributes)
    if attributes.problems or epsilon is None:
        return None
    wanted = release if release is not None else attributes.child("release", {"tables": [list(names.values)]})
    wanted.table(RELEASE_KEYS)
    if attributes.problems:
        return None
    read = read_release(wanted, names, SpecFolder(None, None))
    used = {name for table in read.tables for name in table.margin}
    unused = [name for name in names.values if name not in used] if not read.all_ways else []
    if unused and not attributes.problems:
        attributes.problem(f"no wanted table has {unused[0]!r}: leave it out, or ask for a table of it")
    if attributes.problems:
        return None
    return _table(codebook, epsilon, read, title, attributes)


def _table(codebook: Codebook, epsilon: Fraction, read: Any, title: str, node: Node) -> Spec | None:
    try:
        return Spec(
            codebook=codebook,
            budget=PureDP(epsilon),
            tables=read.tables,
            all_ways=read.all_ways,
            strategy="base",
            nonnegative=read.nonnegative,
            rounding=read.rounding,
            title=title,
        )
    except UsageError as error:
        node.problem(str(error))
        return None
