"""What attackers can reach at most, as a part of a report: for statisticians, and from the guarantee alone."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from margrave.planning.promise.exposure import AttackKind, Limit, exposure, rounded_up
from margrave.planning.promise.guarantee import Guarantee
from margrave.publish.report.html import details, paragraph, section, table
from margrave.publish.report.svg import picture

_ROW = 40
_COUNTED: dict[AttackKind, str] = {
    "membership": "Membership: found",
    "reconstruction": "Reconstruction: told",
    "linkage": "Linkage: guessed",
}
_SAID = (
    "How far an attacker gets who knows everything about everybody else. Left dot: how often she succeeds without this "
    "release. Right dot: how often she can succeed with it, at most, however she computes."
)
_CAPTION = (
    "From 0 to 100 %. Who accuses 1 % at random finds 1 % of the members. A secret that is told is a fair coin for "
    "everybody, a value that is guessed is one person's."
)


def risk_section(promise: Guarantee) -> str:
    """The limits of a guarantee: a line for each, and what they mean in words."""
    found = exposure(promise)
    gained = (
        []
        if found.advantage is None
        else [
            "A test for membership finds those in the data more often than it accuses others by at most "
            f"{rounded_up(found.advantage).removesuffix(' %')} percentage points."
        ]
    )
    rows = [(limit.attack, limit.words, rounded_up(limit.before), rounded_up(limit.after)) for limit in found.limits]
    headers = ("attack", "what it means", "without", "with, at most")
    return section(
        "risk",
        "What an attacker can reach at most",
        paragraph(_SAID),
        f"<figure>{_ranges(found.limits)}<figcaption>{_CAPTION}</figcaption></figure>",
        paragraph(" ".join((*gained, *found.words()))),
        details("The numbers as a table", table(headers, rows, texts=2, caption="Limits on attackers")),
    )


def _ranges(limits: Sequence[Limit]) -> str:
    """For each limit a line from what an attacker reaches without the release to what she can reach with it."""
    body = []
    for index, limit in enumerate(limits):
        top, middle = index * _ROW, index * _ROW + 25
        before, after = rounded_up(limit.before), rounded_up(limit.after)
        left, right = (f"{1 + 98 * share:.2f}%" for share in (limit.before, limit.after))
        body += [
            f'<text x="0" y="{top + 13}">{_COUNTED[limit.attack]}</text>',
            f'<text class="end" x="100%" y="{top + 13}"><tspan class="muted">{escape(before)} → </tspan>'
            f'<tspan class="strong">{escape(after)}</tspan></text>',
            f'<line class="grid" x1="1%" x2="99%" y1="{middle}" y2="{middle}"/>',
            f'<line class="curve" x1="{left}" x2="{right}" y1="{middle}" y2="{middle}"/>',
            f'<circle class="point" cx="{left}" cy="{middle}" r="4"/>',
            f'<circle class="dot" cx="{right}" cy="{middle}" r="5"/>',
        ]
    description = " ".join(limit.words for limit in limits)
    return picture("risk-plot", "What attackers can reach", description, _ROW * len(limits) + 2, "".join(body))
