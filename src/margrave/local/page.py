"""The questionnaire as one self-contained page: it asks, draws, and shows the report that will leave the device."""

from __future__ import annotations

import json
import re
from html import escape
from importlib.resources import files
from typing import Any
from urllib.parse import urlsplit

from margrave.errors import UsageError
from margrave.local.reports import question_digits
from margrave.planning.local.plan import LocalPlan
from margrave.planning.local.question import WEIGHTS
from margrave.planning.local.words import guarantee_words, sure
from margrave.publish.report.html import inline_source


def device_plan(plan: LocalPlan) -> dict[str, Any]:
    """What a device needs to make a report."""
    return {
        "plan": plan.hash,
        "memory": plan.memory_key,
        "digits": question_digits(plan),
        "weights": WEIGHTS,
        "odds": {"numerator": plan.odds.numerator, "denominator": plan.odds.denominator},
        "shuffled": plan.spec.shuffler is not None,
        "questions": [one.as_dict() for one in plan.questions],
    }


def page_html(plan: LocalPlan, post: str | None = None) -> str:
    """The whole page; ``post``: the address that reports are sent to, otherwise they are saved as a file."""
    if post is not None and (urlsplit(post).scheme not in ("https", "http") or not urlsplit(post).netloc):
        raise UsageError(f"{post!r} is no address that a page can send to: it begins with https://")
    title = plan.title or "A question that nobody can overhear"
    target = "none" if post is None else f"{urlsplit(post).scheme}://{urlsplit(post).netloc}"
    values = {
        "TITLE": escape(title),
        "FORM_ACTION": f"'{target}'" if post is None else escape(target),
        "WORDS": "".join(f"<li>{escape(text)}</li>" for text in guarantee_words(plan)),
        "WHO": escape(_who(plan)),
        "SURE": f"{100 * sure(plan.odds):.0f} %",
        "QUESTIONS": "".join(_fieldset(plan, name) for name in plan.asked),
        "POST": "" if post is None else escape(post),
        "ENCODER": _resource("encoder.js"),
        "PAGE": _resource("page.js"),
        "PLAN": _script_json(device_plan(plan) | {"titles": {name: _title(plan, name) for name in plan.asked}}),
    }
    text = _resource("page.html")
    for name, value in values.items():
        text = text.replace(f"<!--{name}-->", value)
    return text.replace("<!--STYLES-->", _allowed("style", text)).replace("<!--SCRIPTS-->", _allowed("script", text))


def _allowed(element: str, text: str) -> str:
    """The sources of a policy that allow what stands in the elements of a page now, and nothing else."""
    return " ".join(inline_source(one) for one in re.findall(rf"<{element}>(.*?)</{element}>", text, re.DOTALL))


def _fieldset(plan: LocalPlan, name: str) -> str:
    """One question with its answers."""
    entry = plan.spec.base.codebook[name]
    place = plan.asked.index(name)
    rows = "".join(
        f'<label><input type="radio" name="q{place}" value="{code}" required> {escape(entry.label(value))}</label>'
        for code, value in enumerate(plan.spec.domain[name].values)
    )
    return f'<fieldset data-name="{escape(name)}"><legend>{escape(_title(plan, name))}</legend>{rows}</fieldset>'


def _title(plan: LocalPlan, name: str) -> str:
    return plan.spec.base.codebook[name].title or name


def _who(plan: LocalPlan) -> str:
    """Who sees what of a report."""
    shuffler = plan.spec.shuffler
    if shuffler is None:
        return (
            "This line is all that is sent. It does not hold your answers. The collector sees your report and its "
            "token, which only keeps anybody from being counted twice."
        )
    return (
        f"This line is all that is sent, to {shuffler.name}, with a token beside it that keeps anybody from being "
        "counted twice. It does not hold your answers. The token is taken off there and the reports are mixed before "
        "the collector sees them."
    )


def _script_json(value: dict[str, Any]) -> str:
    """JSON that can stand inside a script element, whatever texts it holds."""
    text = json.dumps(value, ensure_ascii=True)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _resource(name: str) -> str:
    return (files("margrave.local") / name).read_text(encoding="utf-8")
