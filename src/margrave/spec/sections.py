"""Reading the sections [data], [release] and [privacy]."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from margrave.algebra.domain import Margin
from margrave.budget.units import ZCDP, ApproxDP, Budget, PureDP
from margrave.errors import UsageError
from margrave.spec.choices import (
    AUTO,
    ENGINES,
    INDUCED,
    NEIGHBOURS,
    NONNEGATIVE,
    OBJECTIVES,
    ROUNDING,
    STRATEGIES,
    Engine,
    Induced,
    Neighbours,
    Nonnegative,
    Objective,
    Rounding,
    Strategy,
)
from margrave.spec.dialect import DIALECT_KEYS, USUAL, Dialect, read_dialect
from margrave.spec.document import located
from margrave.spec.public import SpecFolder, read_public
from margrave.spec.reader import Node, words
from margrave.spec.toml import quote
from margrave.spec.workload import MOST_TABLES, Pattern, PublicFact, Wanted, count_margins

if TYPE_CHECKING:
    from margrave.spec.attributes import Names

COUNT_KEYS = ("column", "public")
DATA_KEYS = ("source", "count", "confidential", "unit", "engine", *DIALECT_KEYS)
UNIT_KEYS = ("column", "max_records")
RELEASE_KEYS = (
    "tables", "all", "public", "impossible", "sensitive", "strategy", "objective", "nonnegative", "rounding",
    "expected_size",
)  # fmt: skip
MOST_RECORDS = 10**12
"""The most records that may be expected."""
PRIVACY_KEYS = ("epsilon", "delta", "rho", "neighbours", "induced")

_Word = TypeVar("_Word", bound=str)


@dataclass(frozen=True)
class Unit:
    """Who is protected when one person may own several records: the column that names the person, and how many."""

    column: str
    max_records: int

    def __post_init__(self) -> None:
        if not self.column or self.max_records < 1:
            raise UsageError("a unit needs a column and at least one record")


@dataclass(frozen=True)
class DataSection:
    """Where the data is. Never published.

    ``source`` is a path, a glob or a URL as written; ``base`` the folder that relative paths start from.
    ``count`` is the column that holds the number of records where the file is already tabulated. ``count_public``:
    sums of it may be published exactly, as everything is whose protection is given up. ``dialect``: how the file is
    written. ``engine``: who counts a table of a database.
    """

    source: str | None = field(default=None, repr=False)
    count: str | None = None
    confidential: bool = True
    unit: Unit | None = None
    base: Path | None = field(default=None, compare=False, repr=False)
    count_public: bool = False
    dialect: Dialect = USUAL
    engine: Engine = AUTO

    def __post_init__(self) -> None:
        if self.count is not None and self.unit is not None:
            raise UsageError("a file that is already tabulated has no units: leave out count or unit")
        if self.count_public and self.count is None:
            raise UsageError("no column of counts is named that could be public")

    @property
    def location(self) -> str | None:
        """The source with a relative path made relative to ``base``."""
        return located(self.source, self.base)


@dataclass(frozen=True)
class ReleaseSection:
    """The section [release] as read. ``has_public`` also where every public fact declared has a problem."""

    tables: tuple[Wanted, ...] = ()
    all_ways: int = 0
    public: tuple[PublicFact, ...] = ()
    impossible: tuple[Pattern, ...] = ()
    sensitive: Margin = ()
    strategy: Strategy = "auto"
    objective: Objective = "mean"
    nonnegative: Nonnegative = "auto"
    rounding: Rounding = "controlled"
    expected_size: int | None = None
    has_public: bool = False


@dataclass(frozen=True)
class PrivacySection:
    """The section [privacy] as read; ``budget`` is None where a problem was noted."""

    budget: Budget | None = None
    neighbours: Neighbours = "add-remove"
    induced: Induced | None = None


def read_data(node: Node, names: Names, base: Path | None) -> DataSection:
    keys = node.table(DATA_KEYS)
    count, public = _read_count(keys["count"]) if "count" in keys else (None, False)
    if count is not None and count in names.values:
        keys["count"].problem(f"{count!r} is an attribute; the column of counts cannot be one")
    if "count" in keys and "unit" in keys:
        keys["unit"].problem("contradicts count: a file that is already tabulated has no units; leave one of them out")
    confidential = keys["confidential"].flag() if "confidential" in keys else True
    unit = _read_unit(keys["unit"]) if "unit" in keys else None
    source = keys["source"].path() if "source" in keys else None
    owner = unit if count is None else None
    engine = _choice(keys, "engine", ENGINES)
    return DataSection(source, count, confidential is not False, owner, base, public, read_dialect(keys), engine)


def _read_count(node: Node) -> tuple[str | None, bool]:
    """The column of counts, and whether its sums are public."""
    if not isinstance(node.value, Mapping):
        return node.text(), False
    keys = node.table(COUNT_KEYS)
    if "column" not in keys:
        node.needs(keys, "column, the name of the column of counts")
    column = _text(keys, "column")
    public = keys["public"].flag() if "public" in keys else False
    return column, public is True and column is not None


def _read_unit(node: Node) -> Unit | None:
    keys = node.table(UNIT_KEYS, 'a table such as { column = "person", max_records = 3 }')
    if not isinstance(node.value, Mapping):
        return None
    for absent in (key for key in UNIT_KEYS if key not in keys):
        node.needs(keys, absent)
    column = _text(keys, "column")
    most = keys["max_records"].whole() if "max_records" in keys else None
    if most is not None and most < 1:
        keys["max_records"].problem("must be at least 1")
    return Unit(column, most) if column is not None and most is not None and most >= 1 else None


def read_release(node: Node, names: Names, files: SpecFolder) -> ReleaseSection:
    keys = node.table(RELEASE_KEYS)
    if not isinstance(node.value, Mapping):
        return ReleaseSection()
    tables = _read_tables(keys["tables"], names) if "tables" in keys else ()
    ways = _read_all(keys["all"], names) if "all" in keys else 0
    if not _items(keys.get("tables")) and "all" not in keys:
        node.problem('no table is wanted; list some, tables = [["a", "b"]], or ask for all = 2')
    public = read_public(keys["public"], names, files) if "public" in keys else ()
    sensitive = names.margin(keys["sensitive"]) if "sensitive" in keys else ()
    if sensitive and _items(keys.get("public")):
        keys["sensitive"].problem("contradicts public: it already makes public all that the other attributes tell")
    return ReleaseSection(
        tables,
        ways,
        public,
        _read_impossible(keys["impossible"], names) if "impossible" in keys else (),
        sensitive or (),
        _choice(keys, "strategy", STRATEGIES),
        _choice(keys, "objective", OBJECTIVES),
        _choice(keys, "nonnegative", NONNEGATIVE),
        _choice(keys, "rounding", ROUNDING),
        _read_size(keys["expected_size"]) if "expected_size" in keys else None,
        has_public=_items(keys.get("public")),
    )


def _read_size(node: Node) -> int | None:
    size = node.whole()
    if size is not None and not 1 <= size <= MOST_RECORDS:
        node.problem(f"must be a number of records from 1 to {MOST_RECORDS}")
        return None
    return size


def _read_tables(node: Node, names: Names) -> tuple[Wanted, ...]:
    wanted: dict[Margin, Wanted] = {}
    for item in node.items('a list of tables such as [["a", "b"], ["c"]]') or []:
        table = _read_wanted(item, names)
        if table is not None and table.margin in wanted:
            item.problem(f"the table of {words(table.margin) or 'nothing, the grand total,'} is listed twice")
        elif table is not None:
            wanted[table.margin] = table
    return tuple(wanted.values())


def _read_wanted(node: Node, names: Names) -> Wanted | None:
    if not isinstance(node.value, Mapping):
        if isinstance(node.value, str):
            node.problem(f"must be a list of attributes: write [{quote(node.value)}]")
            return None
        margin = names.margin(node)
        return None if margin is None else Wanted(margin)
    keys = node.table(("of", "weight"))
    if "of" not in keys:
        node.needs(keys, "of, the list of its attributes")
        return None
    margin = names.margin(keys["of"])
    weight = keys["weight"].positive() if "weight" in keys else None
    if margin is None or ("weight" in keys and weight is None):
        return None
    return Wanted(margin) if weight is None else Wanted(margin, weight)


def _read_all(node: Node, names: Names) -> int:
    ways = node.whole()
    if ways is None:
        return 0
    attributes = len(names.values)
    if not 1 <= ways <= attributes:
        node.problem(f"must be between 1 and the number of attributes, {attributes}")
        return 0
    count = count_margins(attributes, ways)
    if count > MOST_TABLES:
        node.problem(f"asks for {count:,} tables; at most {MOST_TABLES:,} are possible")
        return 0
    return ways


def _read_impossible(node: Node, names: Names) -> tuple[Pattern, ...]:
    patterns = (_read_pattern(item, names) for item in node.items("a list of patterns") or [])
    return tuple(pattern for pattern in patterns if pattern is not None)


def _read_pattern(node: Node, names: Names) -> Pattern | None:
    before = len(node.problems)
    children = node.pairs('a table such as { age = "0-17", rooms = ["8", "9"] }')
    pattern: dict[str, frozenset[str]] = {}
    for name, child in children.items():
        if names.declared(child, name):
            pattern[name] = _read_values(child, name, names)
    if len(node.problems) > before:
        return None
    if all(values == names.values[name] for name, values in pattern.items()):
        node.problem("would make every record impossible" if pattern else "names no attribute")
        return None
    return {name: pattern[name] for name in names.values if name in pattern}


def _read_values(node: Node, name: str, names: Names) -> frozenset[str]:
    items = [node] if not isinstance(node.value, list | tuple) else (node.items() or [])
    if not items:
        node.problem("needs at least one value")
    return frozenset(text for item in items if (text := names.value(item, name)) is not None)


def read_privacy(node: Node, release: ReleaseSection) -> PrivacySection:
    keys = node.table(PRIVACY_KEYS)
    budget = read_budget(node, keys) if isinstance(node.value, Mapping) else None
    neighbours = _choice(keys, "neighbours", NEIGHBOURS)
    if release.sensitive:
        if neighbours == "add-remove" and "neighbours" in keys:
            keys["neighbours"].problem('contradicts sensitive, which protects replaced values: use "replace"')
        neighbours = "replace"
    if "induced" in keys and not release.has_public:
        keys["induced"].problem("only has a meaning together with public facts; leave it out")
    induced = _choice(keys, "induced", INDUCED) if release.public else None
    return PrivacySection(budget, neighbours, induced)


def read_budget(node: Node, keys: Mapping[str, Node]) -> Budget | None:
    """The budget among the keys of [privacy]; None where a problem was noted."""
    given = [key for key in ("epsilon", "delta", "rho") if key in keys]
    forms = "epsilon, or epsilon and delta, or rho"
    if "rho" in given and len(given) > 1:
        node.problem(f"needs {forms}, not {' and '.join(given)}")
    elif given in ([], ["delta"]):
        node.needs(keys, forms + (", not delta alone" if given else ""))
    numbers = {key: keys[key].positive() for key in given if key != "delta"}
    if "delta" in given:
        numbers["delta"] = _read_delta(keys["delta"])
    match numbers:
        case {"epsilon": epsilon, "delta": delta, **rest} if epsilon and delta and not rest:
            return ApproxDP(epsilon, delta)
        case {"epsilon": epsilon, **rest} if epsilon and not rest:
            return PureDP(epsilon)
        case {"rho": rho, **rest} if rho and not rest:
            return ZCDP(rho)
    return None


def _read_delta(node: Node) -> Fraction | None:
    delta = node.number()
    if delta is None:
        return None
    if delta == 0:
        node.problem("delta = 0 is pure differential privacy: leave delta out")
        return None
    if not 0 < delta < 1:
        node.problem("must be greater than 0 and less than 1")
        return None
    return delta


def _text(keys: Mapping[str, Node], name: str) -> str | None:
    return keys[name].text() if name in keys else None


def _choice(keys: Mapping[str, Node], name: str, options: Sequence[_Word]) -> _Word:
    """The choice made, or the first option, which is the default."""
    return (keys[name].choice(options) if name in keys else None) or options[0]


def _items(node: Node | None) -> bool:
    """Whether a key is there and is not an empty list."""
    return node is not None and node.value not in ([], ())
