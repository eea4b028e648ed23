"""Checking a bundle against itself: checksums, every number again from the measurements, agreement, and the cost."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from margrave.algebra.domain import Domain, Margin
from margrave.algebra.lattice import subsets
from margrave.algebra.table import Table
from margrave.budget.units import ZCDP, ApproxDP, Budget, amount, budget_from_dict
from margrave.design.describe import name_of
from margrave.errors import BundleError, MargraveError, VerificationError
from margrave.publish.bundle import MANIFEST, MOST_MANIFEST, Bundle, checked, manifest_of, read_bundle
from margrave.publish.manifest import check_version, guarantee_json, software_version
from margrave.publish.parts import CUBE, DECIMALS, column, csv_bytes, cube_rows, parts, read_parquet, table_stems
from margrave.publish.reading import Files, opened

if TYPE_CHECKING:
    import pyarrow as pa

_CLOSE = 1e-6
_ROOM = Fraction(1, 10**6)
_MANY = 10
"""Tables of up to so many attributes are compared on every margin that they could share with another."""

Progress = Callable[[int, int | None], None]


@dataclass(frozen=True)
class Verified:
    """What was found to be in order."""

    private: bool
    files: int
    tables: int
    margins: int
    cost: Budget


def verify(path: str | Path, progress: Progress | None = None) -> Verified:
    """Check a whole bundle; a VerificationError names the first thing that does not fit."""
    with opened(Path(path)) as files:
        if MANIFEST not in files.names:
            raise BundleError(f"{path}: there is no {MANIFEST}, so this is not a release")
        check_version(files.read(MANIFEST, MOST_MANIFEST))
        try:
            return _verify(files, progress)
        except VerificationError:
            raise
        except MargraveError as error:
            raise VerificationError(str(error)) from None


def _verify(files: Files, progress: Progress | None) -> Verified:
    bundle = read_bundle(files)
    _check_files(files, bundle, progress)
    _check_guarantee(bundle)
    _check_manifest(files, bundle)
    tables = _check_parts(files, bundle)
    margins = _check_agreement(bundle.release.domain, tables)
    return Verified(
        bundle.release.private, len(bundle.manifest.files) + 1, len(tables), margins, bundle.release.plan.guarantee
    )


def _check_files(files: Files, bundle: Bundle, progress: Progress | None) -> None:
    listed = bundle.manifest.files
    for index, name in enumerate(listed):
        checked(files, bundle.manifest, name)
        if progress is not None:
            progress(index + 1, len(listed))
    extra = sorted(files.names - set(listed) - {MANIFEST})
    if extra:
        raise VerificationError(f"{extra[0]!r} is in the bundle, and {MANIFEST} does not list it")


def _check_guarantee(bundle: Bundle) -> None:
    """The stated cost is the one that follows from the events, and no more than the budget."""
    plan, stated = bundle.release.plan, bundle.manifest.stated
    derived = guarantee_json(plan)
    for key in ("cost", "guarantee"):
        _same_budget(f"the {key}", stated.get(key), derived[key])
    groups = stated.get("groups")
    if not isinstance(groups, Mapping) or groups.keys() != derived["groups"].keys():
        raise VerificationError(f"{MANIFEST} does not state the guarantee for groups of 2, 5 and 10")
    for size, budget in derived["groups"].items():
        _same_budget(f"the guarantee for groups of {size}", groups[size], budget)
    for key in ("neighbours", "unit", *(["words"] if _same_software(bundle) else [])):
        if stated.get(key) != derived[key]:
            raise VerificationError(
                f"{MANIFEST} states {key} {stated.get(key)!r} where the events give {derived[key]!r}"
            )
    protection, spec = plan.protection, plan.spec
    sensitive = spec.sensitive if plan.encoding is None else plan.encoding.margin(spec.sensitive)
    if (protection.neighbours, protection.sensitive) != (spec.neighbours, sensitive):
        raise VerificationError(f"{MANIFEST}: the plan protects something else than its spec asks for")
    room = 1 + (_ROOM if isinstance(plan.guarantee, ApproxDP) else 0)
    same_unit = isinstance(plan.guarantee, ZCDP) == isinstance(spec.budget, ZCDP)
    if same_unit and amount(plan.guarantee) > room * amount(spec.budget):
        raise VerificationError(f"the events cost {plan.guarantee}, more than the budget of {spec.budget}")


def _same_software(bundle: Bundle) -> bool:
    """Whether this very version wrote the bundle, so that its words, too, must be the ones it would write."""
    return bundle.manifest.software == f"margrave {software_version()}"


def _check_manifest(files: Files, bundle: Bundle) -> None:
    """Nothing else stands in `release.json` than what follows from the release."""
    release, manifest = bundle.release, bundle.manifest
    expected = manifest_of(release, manifest.created, manifest.files)
    if _same_software(bundle) and files.read(MANIFEST, MOST_MANIFEST) != expected:
        raise VerificationError(f"{MANIFEST} says something that does not follow from the release")


def _same_budget(what: str, stated: Any, derived: Mapping[str, str]) -> None:
    try:
        found, expected = budget_from_dict(stated), budget_from_dict(derived)
    except (MargraveError, AttributeError, TypeError, ValueError):
        raise VerificationError(f"{MANIFEST}: {what} is not readable") from None
    # A conversion to (ε, δ) goes through floating point, which other versions may round elsewhere.
    room = _ROOM if isinstance(expected, ApproxDP) else 0
    pairs = [(amount(found), amount(expected))]
    if isinstance(found, ApproxDP) and isinstance(expected, ApproxDP):
        pairs.append((found.delta, expected.delta))
    if type(found) is not type(expected) or any(abs(one - other) > room * other for one, other in pairs):
        raise VerificationError(f"{MANIFEST} states {what} as {found}; the events give {expected}")


def _check_parts(files: Files, bundle: Bundle) -> list[tuple[Margin, str, pa.Table]]:
    """Every Parquet file follows from the measurements, and every CSV file says the same."""
    release = bundle.release
    by_stem = {stem: margin for margin, stem in table_stems(release.plan).items()}
    tables = []
    for stem, expected in parts(release):
        name = f"{stem}.parquet"
        found = read_parquet(checked(files, bundle.manifest, name), name, expected.num_rows)
        _compare(name, found, expected)
        if checked(files, bundle.manifest, f"{stem}.csv") != csv_bytes(found):
            raise VerificationError(f"{stem}.csv and {name} differ")
        if stem in by_stem:
            tables.append((by_stem[stem], stem, found))
    cube = b"".join(cube_rows(release.domain, [(margin, table) for margin, _, table in tables]))
    if checked(files, bundle.manifest, CUBE) != cube:
        raise VerificationError(f"{CUBE} and the tables differ")
    return tables


def _compare(name: str, found: pa.Table, expected: pa.Table) -> None:
    if found.column_names != expected.column_names or found.schema.types != expected.schema.types:
        raise VerificationError(f"{name} does not have the columns {', '.join(expected.column_names)}")
    for label in expected.column_names:
        values, wanted = found.column(label), expected.column(label)
        if values.equals(wanted):
            continue
        row = _first_difference(values, wanted)
        if row is not None:
            raise VerificationError(
                f"{name}, row {row + 1}: {label} is {values[row]} and follows from the measurements as {wanted[row]}"
            )


def _first_difference(values: Any, wanted: Any) -> int | None:
    """The first row where two columns differ; numbers with decimals may differ by their rounding."""
    import pyarrow as pa

    if pa.types.is_floating(wanted.type) and not values.null_count:
        left, right = values.to_numpy(), wanted.to_numpy()
        different = ~np.isclose(left, right, rtol=_CLOSE, atol=2 * 10.0**-DECIMALS)
    else:
        pairs = zip(values.to_pylist(), wanted.to_pylist(), strict=True)
        different = np.array([one != other for one, other in pairs], dtype=bool)
    return int(different.argmax()) if different.any() else None


def _check_agreement(domain: Domain, tables: Sequence[tuple[Margin, str, pa.Table]]) -> int:
    """Tables that share a margin agree on it, published and unbiased, down to the total. Counts those margins."""
    shared = set()
    others = [margin for margin, _, _ in tables]
    for kind in ("count", "unbiased"):
        seen: dict[Margin, tuple[str, NDArray[Any], int]] = {}
        for margin, stem, table in tables:
            numbers = Table(domain, margin, table.column(column(kind, margin)).to_numpy())
            for below in _shared(margin, others):
                sums = numbers.project(below).counts
                first, expected, cells = seen.setdefault(below, (stem, sums, numbers.counts.size))
                if first != stem:
                    shared.add(below)
                    if not _agree(sums, expected, cells + numbers.counts.size):
                        raise VerificationError(f"{stem} and {first} disagree about {name_of(below)} ({kind})")
    return len(shared)


def _shared(margin: Margin, others: Sequence[Margin]) -> Iterator[Margin]:
    """The margins below this one on which another table may have something to say."""
    if len(margin) <= _MANY:
        yield from subsets(margin)
        return
    yield from dict.fromkeys(tuple(name for name in margin if name in other) for other in others)


def _agree(sums: NDArray[Any], expected: NDArray[Any], cells: int) -> bool:
    """Whole counts agree exactly; others up to the rounding of the cells that were added."""
    if sums.dtype.kind == "i" and expected.dtype.kind == "i":
        return np.array_equal(sums, expected)
    return np.allclose(sums, expected, rtol=1e-9, atol=cells * 10.0**-DECIMALS)
