"""The table builder: a view of a release, and a form to change it, which needs no script."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from margrave.messages.catalogue import say
from margrave.publish.bundle.parts.description import title_of
from margrave.publish.explorer.addresses import Served
from margrave.publish.explorer.drawing import Words, drawn
from margrave.publish.explorer.figures import Figures
from margrave.publish.explorer.grid import bases_of, knows
from margrave.publish.explorer.library import Shelved
from margrave.publish.explorer.pages.frame import INNER, ViewLink, rendered
from margrave.publish.explorer.pages.release import citation, titled
from margrave.publish.explorer.view import CHARTS, NUMBERS, ORDERS, SHARES, TableView
from margrave.publish.report.values import written

if TYPE_CHECKING:
    from margrave.publish.released import Released

GROUPS = 4
"""Groups of collapsed values that the form offers for each attribute; an address can have more."""
_MOST_VALUES = 200
"""Values of an attribute that the form offers, beside those that the view names; an address can have others."""
_MOST_OFFERED = 1_000
"""Values of all attributes together up to which the form offers those of attributes that are not shown."""


def table_page(release: Released, entry: Shelved, view: TableView, found: Figures | str, to: Served = INNER) -> str:
    """The table builder with a view; in place of figures, why there are none."""
    refused = found if isinstance(found, str) else ""
    names = tuple(name for name in view.shown if name in release.domain.names)
    known = {name: _known_with(release, view, name) for name in release.domain.names if name not in view.names}
    every = to.builds or sum(release.domain.shape()) <= _MOST_OFFERED
    return rendered(
        "table.html",
        to,
        title=title_of(release),
        private=release.private,
        heading=titled(release, names),
        refused=refused[:1].upper() + refused[1:],
        builder=to.builds,
        form=to.has_form,
        drawing="" if isinstance(found, str) else Markup(drawn(found, words_of(found))),
        address=view.address(),
        citation=citation(title_of(release), entry, "" if to.builds else to.view(view.address())),
        fewer=[ViewLink(titled(release, (name,)), without(view, name).address()) for name in names],
        more=[
            ViewLink(titled(release, (name,)), replace(view, rows=(*view.rows, name)).address())
            for name, together in known.items()
            if together
        ],
        attributes=[
            _attribute(release, view, name, known=known.get(name, True), offered=every or name in view.names)
            for name in release.domain.names
        ],
        every=every,
        groups=[(str(number), say("group %(number)s", number=number)) for number in range(1, GROUPS + 1)],
        choices=choices(view, () if release.publication is not None else ("unbiased",), to),
    )


def without(view: TableView, name: str) -> TableView:
    """A view rolled up: all values of an attribute together. Filters of it go as well."""
    return replace(
        view,
        rows=tuple(one for one in view.rows if one != name),
        columns=tuple(one for one in view.columns if one != name),
        keep=tuple(one for one in view.keep if one[0] != name),
        join=tuple(one for one in view.join if one[0] != name),
        minus=tuple(one for one in view.minus if one[0] != name),
    )


def _known_with(release: Released, view: TableView, name: str) -> bool:
    names = set(release.domain.names)
    return set(view.names) <= names and knows(release, (*view.names, name))


def words_of(figures: Figures) -> Words:
    """What a drawing of figures says."""
    kind = say("Published numbers") if figures.view.numbers == "published" else say("Unbiased numbers")

    def some(count: int) -> str:
        return say("The first %(count)s rows; the CSV has all.", count=written(count))

    number = say("Count") if figures.view.share == "none" else say("Share")
    if figures.view.minus:
        number = say("Difference")
    caption = say("%(kind)s, with %(percent)s intervals.", kind=kind, percent=f"{100 * figures.level:g} %")
    if figures.view.minus:
        bases = [(figures.grid.axes[axis], group) for axis, group in bases_of(figures.grid, figures.view)]
        base = " · ".join(f"{axis.title}: {axis.labels[group]}" for axis, group in bases)
        caption += " " + say("From each number that of %(base)s is taken away.", base=base)
    return Words(caption, number, some)


def _attribute(release: Released, view: TableView, name: str, *, known: bool, offered: bool) -> dict[str, Any]:
    """An attribute as the form shows it; ``known`` together with the view, ``offered`` with its values."""
    entry = release.plan.spec.codebook[name]
    keep, join = dict(view.keep).get(name, ()), dict(view.join).get(name, ())
    group = {value: str(number) for number, values in enumerate(join, 1) for value in values}
    base = dict(view.minus).get(name)
    every = entry.attribute.values
    named = {*keep, *group, base}
    some = [value for at, value in enumerate(every) if at < _MOST_VALUES or value in named] if offered else []
    return {
        "name": name,
        "title": entry.title or name,
        "down": name in view.rows,
        "across": name in view.columns,
        "shown": name in view.shown,
        "changed": bool(keep or join or base),
        "known": known,
        "left": len(every) - len(some) if offered else 0,
        "values": [
            {
                "name": value,
                "label": entry.label(value),
                "kept": value in keep,
                "group": group.get(value, ""),
                "base": value == base,
            }
            for value in some
        ],
    }


def choices(view: TableView, only: tuple[str, ...], to: Served) -> list[dict[str, Any]]:
    """What a form lets people choose; ``only`` these kinds of numbers, where a release has no others."""
    said = {
        "share": (say("Show"), (say("counts"), say("shares of rows"), say("shares of columns"), say("shares of all"))),
        "order": (say("Order of rows"), (say("as declared"), say("largest first"), say("smallest first"))),
        "chart": (say("Drawn as"), (say("table"), say("bars"), say("shaded table"), say("small tables"))),
        "numbers": (say("Numbers"), (say("published"), say("unbiased"))),
    }
    known = {"share": SHARES, "order": ORDERS, "chart": CHARTS, "numbers": NUMBERS}
    kinds = only or to.computes or NUMBERS
    found = []
    for name, (title, labels) in said.items():
        options = list(zip(known[name], labels, strict=True))
        if name == "numbers":
            options = [option for option in options if option[0] in kinds]
        found.append({"name": name, "title": title, "options": options, "chosen": getattr(view, name)})
    return found
