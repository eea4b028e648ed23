"""Building, explaining and asking a question; what was asked before, and the answers."""

from __future__ import annotations

import json
from dataclasses import replace
from secrets import token_urlsafe
from typing import Any
from urllib.parse import urlencode

from margrave.errors import MargraveError
from margrave.ledger.records import Opened
from margrave.ledger.statements.allowance import Allowance
from margrave.planning.questions.data_spec import DataSpec
from margrave.planning.questions.every import Question, question_of
from margrave.planning.questions.language.wording import said
from margrave.planning.questions.question import PricedQuestion
from margrave.planning.questions.several.batch import Batch
from margrave.publish.questions.answers import AnswerTable
from margrave.publish.release import Release
from margrave.serve.kept.jobs import Job, asked_in
from margrave.serve.kept.tables import moment
from margrave.serve.operations.asking import own_job
from margrave.serve.operations.declared import HttpReply
from margrave.serve.operations.parting import AccountPurses
from margrave.serve.operations.problems import ProblemError
from margrave.serve.pages.copies import command_of, python_of, sql_of
from margrave.serve.pages.drawings import MOST_DRAWN, answer_lines, curve, curve_svg, number
from margrave.serve.pages.frame import HTML, redirect, rendered, shown
from margrave.serve.pages.visits import Sight, page
from margrave.serve.pages.wanted import (
    CONDITIONS,
    KEYS,
    SIGNS,
    WHATS,
    AskedFor,
    key_choices,
    numeric,
    values_of,
)
from margrave.session.builders import budget_of
from margrave.session.explanation import Explanation
from margrave.session.parts import purse_left
from margrave.session.stored import everything_in

_SYMBOLS = {"epsilon": "ε", "rho": "ρ"}
_PAGE = 50


def meters(allowances: tuple[Allowance, ...]) -> list[dict[str, Any]]:
    """Limits as meters: the share that is left, and the same in words."""
    return [
        {"what": one.what, "share": f"{max(0.0, min(1.0, one.left / float(one.limit.amount))):.4f}", "said": one.said()}
        for one in allowances
    ]


@page("GET", "/ask", "ask")
def ask_page(look: Sight) -> HttpReply:
    """The data sets that can be asked about, with what is left for each."""
    person = look.caller.person
    assert person is not None
    listed = []
    for one in look.house.ledger.records(Opened):
        left = look.house.allowed(person.name, one.dataset)
        title = DataSpec.load(one.declared).title or one.dataset
        listed.append({"name": one.dataset, "title": title, "meters": meters(left), "granted": len(left) > 1})
    return shown("ask.html", look, datasets=listed)


def _explained(look: Sight, data: DataSpec, wanted: AskedFor) -> dict[str, Any]:
    """What the page says about the question that the form asks; or why it is none."""
    name, person = look.path["dataset"], look.caller.person
    assert person is not None
    left = look.house.allowed(person.name, name)
    address = f"/ask/{name}"
    told: dict[str, Any] = {"left": meters(left), "told": None, "why": "", "address": address}
    try:
        node = wanted.node(data)
        budget = budget_of(**{"eps" if wanted.unit == "epsilon" else "rho": wanted.budget[wanted.unit]})
        held = AccountPurses(look.house.ledger, person.name, name, data)
        purse = held.paying((node,), lambda paying: question_of(data, node, budget, paying), None)
        question = question_of(data, node, budget, purse)
        explanation = Explanation(question, left if purse is None else purse_left(held, purse))
        lines = explanation.lines()
    except (MargraveError, ProblemError) as error:
        return {**told, "why": str(error)}
    told |= {"told": lines, "heading": question.title, "affordable": explanation.affordable, "cost": str(question.cost)}
    told |= {"purse": "" if purse is None else purse.name}
    told |= {"asked": json.dumps(node.to_json()), "key": token_urlsafe(24), "wanted": wanted, "text": said(node)}
    told |= _curve(question, wanted, explanation.allowances, address)
    return {**told, **_copies(look, data, wanted)}


def _curve(question: Question, wanted: AskedFor, left: tuple[Allowance, ...], address: str) -> dict[str, Any]:
    if not isinstance(question, PricedQuestion) or not question.forecast:
        return {"curve": "", "points": []}
    fields = urlencode([one for one in wanted.fields() if one[0] != "amount"])
    points = curve(question, wanted.unit, wanted.amount, left, f"{address}?{fields}&amount=")
    told = [(one.amount, number(float(f"{one.half_width:.4g}")), one.affordable) for one in points]
    widest = max(question.forecast, key=lambda one: one.half_width)
    return {
        "curve": curve_svg(points, _SYMBOLS[wanted.unit], widest),
        "points": told,
        "symbol": _SYMBOLS[wanted.unit],
        "divided": widest.per_row,
        "ranked": widest.of_rank,
    }


def _copies(look: Sight, data: DataSpec, wanted: AskedFor) -> dict[str, Any]:
    node, name = wanted.node(data), look.path["dataset"]
    given = (look.host, name, wanted.unit, wanted.amount)
    return {
        "copies": [
            ("Python", python_of(node, *given)),
            ("SQL", sql_of(node, data)),
            ("Command line", command_of(node, *given)),
        ]
    }


@page("GET", "/ask/{dataset}", "ask")
def workbench_page(look: Sight) -> HttpReply:
    data = look.house.opened_data(look.path["dataset"])
    wanted = AskedFor.read(look, data)
    if wanted.table not in {one.name for one in data.tables}:
        wanted = replace(wanted, table=data.tables[0].name)
    table = wanted.spec(data)
    rows = [*wanted.conditions, *([("", "=", "")] * CONDITIONS)][:CONDITIONS]
    by = [*wanted.by, *([""] * KEYS)][:KEYS]
    return shown(
        "workbench.html",
        look,
        409 if look.problem else 200,
        name=look.path["dataset"],
        title=data.title or look.path["dataset"],
        tables=[one.name for one in data.tables],
        columns=[(one.name, one.kind.said()) for one in table.columns],
        numeric=numeric(table),
        keys=key_choices(table),
        members=values_of(table),
        rows=rows,
        by=by,
        signs=SIGNS,
        whats=WHATS,
        form=wanted,
        **_explained(look, data, wanted),
    )


@page("GET", "/ask/{dataset}/explained", "ask")
def explained_page(look: Sight) -> HttpReply:
    """The part of the workbench that a script renews while the form is filled in."""
    data = look.house.opened_data(look.path["dataset"])
    told = rendered("explained.html", look, **_explained(look, data, AskedFor.read(look, data)))
    return HttpReply(content=told.encode(), media=HTML)


@page("POST", "/ask/{dataset}", "ask", again=workbench_page)
def asked_page(look: Sight) -> HttpReply:
    """Ask, and pay. The key was made with the form: to send the form twice is to ask once."""
    unit, name = look.said("unit"), look.path["dataset"]
    body = {"asked": _json(look.said("asked")), "budget": {unit: look.said("amount")}, "purse": look.said("purse")}
    made = look.value("ask", path={"dataset": name}, body=body, headers={"idempotency-key": look.said("key")})
    return redirect(f"/questions/{made['id']}?wait=1")


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _title(job: Job) -> str:
    asked = asked_in(job)
    return f"{len(asked.wanted)} questions together" if isinstance(asked, Batch) else asked.title


def _told(job: Job) -> dict[str, Any]:
    asked = asked_in(job)
    return {
        "id": job.id,
        "dataset": job.dataset,
        "state": job.state,
        "created": moment(job.created),
        "title": _title(job),
        "cost": str(asked.cost),
    }


@page("GET", "/questions", "read")
def history_page(look: Sight) -> HttpReply:
    person = look.caller.person
    assert person is not None
    jobs = look.house.jobs.latest(person.name, _PAGE)
    return shown("history.html", look, jobs=[_told(one) for one in jobs], most=_PAGE)


@page("GET", "/questions/{id}", "read", waits=True)
def answer_page(look: Sight) -> HttpReply:
    """What became of a question: its answer as tables and charts, or why there is none."""
    person = look.caller.person
    assert person is not None
    job = own_job(look.house, person.name, look.path["id"])
    asked = asked_in(job)
    left = look.house.allowed(person.name, job.dataset)
    refused = ""
    if job.state in ("refused", "fault") and job.result is not None:
        refused = json.loads(job.result)["detail"]
    answers = _answers(job) if job.state == "answered" and job.result is not None else []
    again = f"/ask/{job.dataset}?" + urlencode({"text": _title(job)}) if len(answers) == 1 else f"/ask/{job.dataset}"
    context: dict[str, Any] = {"answers": answers, "refused": refused, "left": meters(left), "again": again}
    return shown("answer.html", look, job=_told(job), words=list(asked.words()), **context)


def _answers(job: Job) -> list[dict[str, Any]]:
    assert job.result is not None
    found = []
    for one in everything_in(job.result):
        if isinstance(one, AnswerTable):
            found.append(_lines(one))
        elif isinstance(one, Release):
            found += [_table(one, margin) for margin in one.plan.spec.margins]
    return found


def _lines(answer: AnswerTable) -> dict[str, Any]:
    lines = answer_lines(answer.rows)
    keys = tuple(answer.rows[0].keys) if answer.rows else ()
    more = len(answer.rows) - len(lines)
    return {"title": answer.question.title, "keys": keys, "lines": lines, "more": more, "cells": [], "names": ()}


def _table(release: Release, margin: tuple[str, ...]) -> dict[str, Any]:
    frame = release.table(*margin)
    names = [str(one) for one in frame.columns]
    cells = [[number(_plain(value)) for value in row] for row in frame.head(MOST_DRAWN).itertuples(index=False)]
    title = " × ".join(margin) or "Total"
    return {"title": title, "keys": (), "lines": [], "more": len(frame) - len(cells), "cells": cells, "names": names}


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value
