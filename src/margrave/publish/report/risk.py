"""What attackers can reach at most, as a part of a report: for statisticians, and from the guarantee alone."""

from __future__ import annotations

from html import escape

from margrave.messages.catalogue import later, say
from margrave.planning.promise.exposure import Exposure, rounded_up
from margrave.publish.report.html import details, paragraph, section, table
from margrave.publish.report.svg import picture

_ROW = 40
_SAID = later(
    "Left dot: how often she succeeds without this release. Right dot: how often she can succeed with it, at most, "
    "however she computes."
)

_KINDS = {
    "membership": later("membership"),
    "reconstruction": later("reconstruction"),
    "linkage": later("linkage"),
}


def risk_section(found: Exposure) -> str:
    """The limits of a guarantee: a line for each, and what they mean in words."""
    telling = found.telling
    gained = (
        []
        if found.advantage is None
        else [say(telling.gained).format(gain=rounded_up(found.advantage).removesuffix(" %"))]
    )
    rows = [
        (say(_KINDS[limit.attack]), limit.words, rounded_up(limit.before), rounded_up(limit.after))
        for limit in found.limits
    ]
    headers = (say("attack"), say("what it means"), say("without"), say("with, at most"))
    return section(
        "risk",
        say("What an attacker can reach at most"),
        paragraph(f"{say(telling.lead)} {say(_SAID)}"),
        f"<figure>{_ranges(found)}<figcaption>{say('From 0 to 100 %.')} {say(telling.beside)}</figcaption></figure>",
        paragraph(" ".join((*gained, *found.words()))),
        details(say("The numbers as a table"), table(headers, rows, texts=2, caption=say("Limits on attackers"))),
    )


def _ranges(found: Exposure) -> str:
    """For each limit a line from what an attacker reaches without the release to what she can reach with it."""
    body = []
    for index, limit in enumerate(found.limits):
        top, middle = index * _ROW, index * _ROW + 25
        before, after = rounded_up(limit.before), rounded_up(limit.after)
        left, right = (f"{1 + 98 * share:.2f}%" for share in (limit.before, limit.after))
        body += [
            f'<text x="0" y="{top + 13}">{say(found.telling.headings[limit.attack])}</text>',
            f'<text class="end" x="100%" y="{top + 13}"><tspan class="muted">{escape(before)} → </tspan>'
            f'<tspan class="strong">{escape(after)}</tspan></text>',
            f'<line class="grid" x1="1%" x2="99%" y1="{middle}" y2="{middle}"/>',
            f'<line class="curve" x1="{left}" x2="{right}" y1="{middle}" y2="{middle}"/>',
            f'<circle class="point" cx="{left}" cy="{middle}" r="4"/>',
            f'<circle class="dot" cx="{right}" cy="{middle}" r="5"/>',
        ]
    description = " ".join(limit.words for limit in found.limits)
    return picture(
        "risk-plot", say("What attackers can reach"), description, _ROW * len(found.limits) + 2, "".join(body)
    )
