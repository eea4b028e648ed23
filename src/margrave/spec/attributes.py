"""Reading the section [attributes]."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime
from decimal import Decimal
from itertools import pairwise
from typing import Literal, cast

from margrave.algebra.domain import Margin
from margrave.files.untrusted import MOST_DECLARED, MOST_EXCLUDED
from margrave.spec.codebook import Bins, Categories, Codebook, CodebookEntry, Edge, Range, Rule
from margrave.spec.reader import Node, canonical, shortened, words

KEYS = ("values", "bins", "range", "closed", "missing", "other", "labels", "title", "determines")
RULES = ("values", "bins", "range")
CLOSED: tuple[Literal["left", "right"], ...] = ("left", "right")
MOST_VALUES = 1_000_000
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_INTERVAL = re.compile(r"\s*(\d+)\s*(?:(?:-|–|—|to|\.\.)\s*(\d+)?|\+)\s*", re.ASCII)
RESERVED_NAMES = ("count", "std_error", "low", "high", "variance")
"""Columns of published tables, which an attribute of the same name would hide."""


@dataclass(frozen=True)
class Names:
    """Every declared attribute, with its values where its declaration is sound and None where it is not."""

    values: Mapping[str, frozenset[str] | None]
    ordered: Mapping[str, tuple[str, ...]]

    def attribute(self, node: Node) -> str | None:
        """The name of a declared attribute."""
        name = node.value
        if not isinstance(name, str):
            node.wrong_type("the name of an attribute")
            return None
        return name if self.declared(node, name) else None

    def declared(self, node: Node, name: str) -> bool:
        if name in self.values:
            return True
        hint = node.hint(name, self.values) or f"; declared are {words(list(self.values))}"
        node.problem(f"unknown attribute {shortened(name)!r}{hint}")
        return False

    def margin(self, node: Node) -> Margin | None:
        """A list of different attributes, put into the order of their declaration."""
        items = node.items("a list of attributes")
        if items is None:
            return None
        found: list[str] = []
        for item in items:
            name = self.attribute(item)
            if name is not None and name in found:
                item.problem(f"attribute {name!r} is named twice")
            elif name is not None:
                found.append(name)
        if len(found) < len(items):
            return None
        order = list(self.values)
        return tuple(sorted(found, key=order.index)) if len(found) > 1 else tuple(found)

    def value(self, node: Node, name: str) -> str | None:
        """A value of the attribute ``name``; any value passes where the attribute itself has a problem."""
        text = canonical(node.value)
        if text is None:
            node.wrong_type(f"a value of {name!r}")
            return None
        known = self.values[name]
        if known is None or text in known:
            return text
        hint = node.hint(text, self.ordered[name]) or f"; its values are {words(self.ordered[name])}"
        node.problem(f"{name!r} has no value {shortened(text)!r}{hint}")
        return None


def read_attributes(node: Node) -> tuple[Codebook, Names]:
    """The codebook of the sound entries, and the names of all."""
    declared = node.pairs("a table with one key for each attribute")
    if isinstance(node.value, Mapping) and not node.value:
        node.problem("declare at least one attribute")
    entries = _read_entries(node, declared)
    ordered = {name: entry.attribute.values for name, entry in entries.items() if entry is not None}
    names = Names({name: frozenset(ordered[name]) if name in ordered else None for name in entries}, ordered)
    for name, child in declared.items():
        if isinstance(child.value, Mapping) and "determines" in child.value:
            _check_determines(name, child.child("determines", child.value["determines"]), names)
    sound = tuple(entry for entry in entries.values() if entry is not None)
    _check_cycles(node, sound)
    _check_excluded(node, sound, names)
    return Codebook(sound), names


def _read_entries(node: Node, declared: Mapping[str, Node]) -> dict[str, CodebookEntry | None]:
    """The entries, as long as all their values together are few enough to be held."""
    entries: dict[str, CodebookEntry | None] = {}
    total = 0
    for name, child in declared.items():
        entries[name] = entry = _read_entry(name, child)
        total += 0 if entry is None else entry.rule.size
        if total > MOST_DECLARED:
            node.problem(f"the attributes up to {name!r} have more than {MOST_DECLARED:,} values together; use bins")
            return dict.fromkeys(declared)
    return entries


def name_problem(name: str) -> str | None:
    """Why an attribute cannot have this name, or None where it can."""
    if not name.strip():
        return "an attribute needs a name"
    if name != name.strip():
        return "the name of an attribute must not begin or end with a space"
    if "," in name:
        return "the name of an attribute must not contain a comma: commas separate attributes"
    if name == "*":
        return "'*' cannot name an attribute"
    if name in RESERVED_NAMES:
        return f"{name!r} is a column of every published table; rename the attribute"
    return None


def _read_entry(name: str, node: Node) -> CodebookEntry | None:
    """The entry, or None where its values cannot be known; an entry with wrong labels still tells its values."""
    if wrong := name_problem(name):
        node.problem(wrong)
        if not name:
            return None
    if isinstance(node.value, list | tuple):
        keys = {"values": node}
    else:
        keys = node.table(KEYS, 'a list of values or a table such as { range = [1, 9], other = "10+" }')
    rule = _read_rule(node, keys)
    if rule is None:
        return None
    before = len(node.problems)
    extras = {key: keys[key].value_text() for key in ("missing", "other") if key in keys}
    for key, extra in extras.items():
        if extra is not None:
            _check_extra(keys[key], extra, rule)
    if len(node.problems) > before:
        return None
    title = (keys["title"].text() or "") if "title" in keys else ""
    determines = _plain_determines(keys.get("determines"))
    entry = CodebookEntry(name, rule, title, extras.get("missing"), extras.get("other"), determines=determines)
    labels = _read_labels(keys["labels"], entry) if "labels" in keys else {}
    return replace(entry, labels=labels)


def _read_rule(node: Node, keys: Mapping[str, Node]) -> Rule | None:
    given = [key for key in RULES if key in keys]
    if len(given) > 1:
        node.problem(f"needs exactly one of {words(RULES)}, not {words(given)}")
    elif not given:
        node.needs(keys, f"one of {words(RULES)}")
    if len(given) != 1:
        return None
    if "closed" in keys and given != ["bins"]:
        keys["closed"].problem("only bins have a closed side")
    source = keys[given[0]]
    if given == ["values"]:
        return _read_categories(source)
    if given == ["range"]:
        return _read_range(source)
    return _read_bins(source, keys.get("closed"))


def _read_categories(node: Node) -> Categories | None:
    before = len(node.problems)
    items = node.items("a list of values")
    if items is None:
        return None
    if not items:
        node.problem("needs at least one value")
    seen: dict[str, Node] = {}
    for item in items:
        text = item.value_text()
        if text in seen:
            item.problem(f"value {text!r} is listed twice")
        elif text is not None:
            seen[text] = item
    booleans = [isinstance(item.value, bool) for item in items]
    if any(booleans) and not all(booleans):
        node.problem("mixes true/false with other values; write them all as text")
    return Categories(tuple(seen), boolean=any(booleans)) if len(node.problems) == before else None


def _read_range(node: Node) -> Range | None:
    items = node.items("a list [lowest, highest]")
    if items is None:
        return None
    if len(items) != 2:
        node.problem(f"must be [lowest, highest], not a list of {len(items)}")
        return None
    low, high = (item.whole() for item in items)
    if low is None or high is None:
        return None
    if low > high:
        node.problem(f"the lowest ({low}) must not exceed the highest ({high})")
        return None
    if high - low >= MOST_VALUES:
        node.problem(f"has more than {MOST_VALUES:,} values; use bins")
        return None
    return Range(low, high)


def _read_bins(node: Node, closed: Node | None) -> Bins | None:
    before = len(node.problems)
    side = closed.choice(CLOSED) if closed is not None else "left"
    items = node.items("a list of edges")
    if items is None:
        return None
    if len(items) < 2:
        node.problem("needs at least two edges")
    read = [(item, edge) for item in items if (edge := _read_edge(item)) is not None]
    dates = [isinstance(edge, date) for _, edge in read]
    if any(dates) and not all(dates):
        node.problem("must not mix numbers and dates")
        return None
    for (_, left), (item, right) in pairwise(read):
        if not cast(Decimal, left) < cast(Decimal, right):
            item.problem(f"edges must increase, but {right} comes after {left}")
    if side is None or len(node.problems) > before:
        return None
    return Bins(tuple(edge for _, edge in read), side)


def _read_edge(node: Node) -> Edge | None:
    """A number or a date; a text that reads as a date is one, because JSON has no dates."""
    if isinstance(node.value, date) and not isinstance(node.value, datetime):
        return node.value
    if isinstance(node.value, str) and _DATE.fullmatch(node.value):
        try:
            return date.fromisoformat(node.value)
        except ValueError:
            node.problem(f"there is no date {node.value}")
            return None
    if isinstance(node.value, Decimal | float) and not Decimal(node.value).is_finite():
        node.problem('must be finite; give a last edge and name what lies outside with other = "…"')
        return None
    if isinstance(node.value, datetime):
        node.wrong_type("a number or a date")
        return None
    if isinstance(node.value, str) and (interval := _INTERVAL.fullmatch(node.value)):
        low, high = interval[1], interval[2]
        until = f"bins = [{low}, {int(high) + 1}, …]" if high else f"bins = [{low}, …] with a last edge"
        node.problem(
            f"is an interval, but bins are given by their edges: write {until}, where each bin ends before the next"
        )
        return None
    if node.number() is None:
        return None
    if "/" in str(node.value):
        node.wrong_type("a decimal number or a date")
        return None
    return plain_decimal(str(node.value))


def plain_decimal(text: str) -> Decimal:
    """A decimal without exponent or trailing zeros, so that equal edges have equal text."""
    number = format(Decimal(text), "f")
    number = number.rstrip("0").rstrip(".") if "." in number else number
    return Decimal("0" if number == "-0" else number)


def _check_extra(node: Node, text: str, rule: Rule) -> None:
    """Refuse a name for missing or other values that reads as a number or date which the bins already place."""
    if not isinstance(rule, Bins) or text in rule.values:
        return
    first, last = rule.edges[0], rule.edges[-1]
    try:
        point: Edge = date.fromisoformat(text) if isinstance(first, date) else Decimal(text)
        inside = cast(Decimal, first) <= cast(Decimal, point) <= cast(Decimal, last)
    except (ValueError, ArithmeticError):
        return
    if inside:
        node.problem(f"{text!r} reads as a point inside the bins; use a word")


def _read_labels(node: Node, entry: CodebookEntry) -> dict[str, str]:
    names = Names({entry.name: frozenset(entry.attribute.values)}, {entry.name: entry.attribute.values})
    labels: dict[str, str] = {}
    for value, child in node.pairs("a table from values to words").items():
        label = child.text()
        known = names.value(Node(value, child.place, child.problems), entry.name)
        if label is not None and known is not None:
            labels[value] = label
    return labels


def _plain_determines(node: Node | None) -> dict[str, dict[str, str]]:
    """The map as written, without checks: those need all attributes and are made once these are known."""
    if node is None or not isinstance(node.value, Mapping):
        return {}
    return {
        str(target): {canonical(own) or "": canonical(there) or "" for own, there in implied.items()}
        for target, implied in node.value.items()
        if isinstance(implied, Mapping)
    }


def _check_determines(name: str, node: Node, names: Names) -> None:
    for target, child in node.pairs("a table from attributes to maps of values").items():
        if not names.declared(child, target):
            continue
        if target == name:
            child.problem("an attribute cannot determine itself")
            continue
        before = len(node.problems)
        implied = child.pairs("a table from each value here to the value it implies there")
        for own, grandchild in implied.items():
            names.value(Node(own, grandchild.place, grandchild.problems), name)
            names.value(grandchild, target)
        absent = [value for value in names.ordered.get(name, ()) if value not in implied]
        if absent and len(node.problems) == before:
            child.problem(f"says nothing about {words(absent)}; every value of {name!r} must be mapped")


def _check_excluded(node: Node, entries: tuple[CodebookEntry, ...], names: Names) -> None:
    """Note maps that rule out so many combinations that they could not be listed."""
    total = 0
    for entry in entries:
        for target, implied in entry.determines.items():
            total += len(set(implied.values())) * len(names.ordered.get(target, ()))
            if total > MOST_EXCLUDED:
                place = node.child(entry.name, None).child("determines", None).child(target, None)
                place.problem(f"rules out more than {MOST_EXCLUDED:,} values, too many to be listed; leave it out")
                return


def _check_cycles(node: Node, entries: tuple[CodebookEntry, ...]) -> None:
    """Note each attribute that determines itself through others."""
    edges = _without_ends({entry.name: tuple(entry.determines) for entry in entries})
    for start in edges:
        reached: set[str] = set()
        queue = [target for target in edges[start] if target != start]
        while queue:
            current = queue.pop()
            if current not in reached:
                reached.add(current)
                queue.extend(edges.get(current, ()))
        if start in reached:
            node.child(start, None).child("determines", None).problem(f"{start!r} determines itself through others")


def _without_ends(edges: dict[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    """The attributes from which a cycle can be reached: those that determine nothing are left out, again and again."""
    sources: dict[str, list[str]] = {}
    for source, targets in edges.items():
        for target in targets:
            sources.setdefault(target, []).append(source)
    left = {source: len(targets) for source, targets in edges.items()}
    queue = [source for source, targets in left.items() if not targets]
    queue += [target for target in sources if target not in left]
    for end in queue:
        for source in sources.get(end, ()):
            left[source] -= 1
            if not left[source]:
                queue.append(source)
    return {source: targets for source, targets in edges.items() if left[source]}
