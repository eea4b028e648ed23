"""Releases that are charged to a ledger: what is asked of it, and the bundle that it keeps."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from shutil import disk_usage
from tempfile import gettempdir
from typing import Any

from margrave.crossing import Measured
from margrave.errors import BundleError, MargraveError, RefusedError, UsageError
from margrave.files.content import Content
from margrave.files.untrusted import MOST_BYTES
from margrave.files.writing import File, archive_of
from margrave.ledger import Charge, DataSetName, Head, Ledger, Notion, Request
from margrave.ledger.check import ChargedBundle
from margrave.ledger.journal import canonical
from margrave.planning.plan import Plan
from margrave.publish.bundle.bundle import MANIFEST, bundle_files, manifest_content, read_bundle
from margrave.publish.bundle.drawn import drawn_bytes, pack, unpack
from margrave.publish.bundle.large import bundle_bytes, is_large
from margrave.publish.bundle.manifest import disclosure_json, measurement_json, plan_json, read_manifest
from margrave.publish.bundle.reading import archived, opened
from margrave.publish.release import Release
from margrave.publish.verification.signature import signer_of
from margrave.spec.spec import Spec


def notion_of(spec: Spec) -> Notion:
    """Whom a release by this spec protects, given which public facts. Facts stand with the attributes they speak of."""
    public = spec.public_dict()
    attributes, declared = public["attributes"], public["release"]
    assert isinstance(attributes, Mapping) and isinstance(declared, Mapping)
    facts = [
        canonical({"fact": text, "attributes": {name: attributes[name] for name in fact.margin}})
        for fact, text in zip(spec.public, declared.get("public", ()), strict=True)
    ]
    unit = None if spec.data is None or spec.data.unit is None else spec.data.unit.column
    protected = unit, spec.records_per_unit, spec.neighbours, spec.sensitive
    return Notion(*protected, tuple(facts), spec.induced, spec.counted)


def request_of(plan: Plan, dataset: DataSetName, account: str, request: str | None = None) -> Request:
    """What a plan asks of a data set. Two plans ask the same when their bundles could be the same."""
    events = tuple(measurement_json(one) for one in plan.measurements)
    # The column says already that rows are counted: so a question has the same name as before plans said so, too.
    uncounted = replace(plan, protection=replace(plan.protection, counted=False))
    asked = {
        "spec": plan.spec.public_dict(),
        "plan": plan_json(uncounted),
        "events": events,
        "count": plan.spec.counted,
    }
    return Request(
        dataset=dataset,
        account=account,
        question=sha256(canonical(asked).encode()).hexdigest(),
        cost=plan.cost,
        notion=notion_of(plan.spec),
        id=request,
        title=plan.spec.title,
        mechanisms=events,
        exact=plan.exact,
        disclosed=tuple(disclosure_json(one) for one in plan.disclosures),
    )


def charged(ledger: Ledger, plan: Plan, request: Request, draw: Callable[[], Measured]) -> Release:
    """Reserve, draw, keep, commit: in this order, so that whatever is interrupted, nothing is there without its charge.

    What can be known without data comes first: whether the ledger could keep the answer.

    Noisy answers are kept as soon as they are drawn. Whatever fails afterwards is repeated from them: drawing again
    until it succeeds would be another, dearer question. A failure costs no more and no less than an answer.
    """
    check_room(plan)
    charge = ledger.reserve(request)
    if charge.content is None and charge.drawn is None:
        with _noted(ledger, charge):
            answers = pack(plan, request.question, draw())
        charge = ledger.keep(charge, answers)
    if charge.content is not None:
        return _read(charge.content)
    assert charge.drawn is not None
    with _noted(ledger, charge):
        measured = unpack(plan, request.question, charge.drawn)
        content, identity = _written(Release(plan, measured, _section(charge)))
    return _read(ledger.commit(charge, content, identity))


@contextmanager
def _noted(ledger: Ledger, charge: Charge) -> Iterator[None]:
    """Has the ledger note, for the curator, what failed once data may have been touched."""
    try:
        yield
    except Exception as error:
        # What failed is to be told first, and not that it could not be noted as well.
        with suppress(MargraveError):
            ledger.void(charge, touched=True, reason=type(error).__name__)
        raise


def _section(charge: Charge) -> dict[str, Any]:
    """What a bundle says of its charge."""
    head = charge.head
    return {
        "id": head.ledger,
        "dataset": str(charge.dataset),
        "entry": head.number,
        "hash": head.hash,
        "time": charge.time,
    }


def check_room(plan: Plan) -> None:
    """Refuse a release whose bundle could not be kept, before anything is spent on it."""
    if not is_large(plan):
        return
    needed = bundle_bytes(plan) + drawn_bytes(plan)
    if needed > MOST_BYTES:
        raise RefusedError(
            f"the bundle may take {needed / 2**30:.1f} GiB, and a ledger keeps answers of up to "
            f"{MOST_BYTES / 2**30:.0f} GiB: divide the tables between several releases"
        )
    folder = Path(gettempdir())
    free = disk_usage(folder).free
    if needed > free:
        raise RefusedError(
            f"the bundle may take {needed / 2**30:.1f} GiB on disk before the ledger has it, and {folder} has "
            f"{free / 2**30:.1f} GiB left: make room, or set TMPDIR to another folder"
        )


def _written(release: Release) -> tuple[Content, str]:
    """A bundle as one archive, and the identity of the release: the SHA-256 of its `release.json`."""
    identity = ""

    def files() -> Iterator[File]:
        nonlocal identity
        for name, content in bundle_files(release, release.created):
            if name == MANIFEST:
                identity = sha256(content).hexdigest()
            yield name, content

    content = archive_of(files(), large=is_large(release.plan))
    return content, identity


def _read(content: Content) -> Release:
    with archived(content) as files:
        return replace(read_bundle(files).release, stored=content)


def published_in(path: str | Path) -> Iterator[ChargedBundle]:
    """What the bundles at a path, or in a folder, say of their charges. Those made without a ledger say nothing."""
    place = Path(path)
    if not place.exists():
        raise UsageError(f"{place}: there is no such folder or file")
    inside = sorted(place.iterdir()) if place.is_dir() and not (place / MANIFEST).exists() else [place]
    for one in inside:
        if one.suffix.lower() == ".zip" or (one / MANIFEST).exists():
            found = _published(one)
            if found is not None:
                yield found


def _published(place: Path) -> ChargedBundle | None:
    with opened(place) as files:
        if MANIFEST not in files.names:
            return None
        content = manifest_content(files)
        signer = signer_of(files, content)
    section = read_manifest(content).ledger
    if section is None:
        return None
    try:
        head = Head(section["id"], section["entry"], section["hash"])
    except (KeyError, UsageError):
        raise BundleError(f"{place}: {MANIFEST} does not say where its ledger stood") from None
    return ChargedBundle(str(place), head, sha256(content).hexdigest(), None if signer is None else signer.raw.hex())
