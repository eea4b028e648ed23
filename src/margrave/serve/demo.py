"""A server with everything set up, on bundled data that is public: two analysts, three releases, a budget half used."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from random import Random
from secrets import token_urlsafe
from threading import Event
from typing import Any

from margrave import examples, pipeline
from margrave.budget.units import PureDP
from margrave.files.writing import replace_file
from margrave.ledger.ledger import Ledger
from margrave.ledger.records import Opened
from margrave.planning.questions.data_spec import DataSpec
from margrave.planning.questions.every import question_of
from margrave.planning.questions.language.aggregates import Aggregate
from margrave.planning.questions.language.text import parsed
from margrave.serve.answering import Slot
from margrave.serve.kept.jobs import request_id
from margrave.serve.kept.tokens import ALLOWED
from margrave.serve.operations.declared import House
from margrave.serve.operations.releases import publish
from margrave.spec.spec import Spec

DATASET = "rochdale@1"
CURATOR = "carla"
ANALYSTS = ("ann", "bob")
_TABLE = "households"
_ROWS = 1_000
_PEOPLE = 10_000
_RELEASED = (["wife_active", "husband_unemployed"], ["wife_active", "young_child"], ["asian", "other_worker"])
_EACH = Fraction(1, 5)
_ASKED = "households by wife_active, wife_educated count"
_REST = Fraction(2, 5)
_CAP = 2 * (_EACH * len(_RELEASED) + _REST)


@dataclass(frozen=True)
class DemoServer:
    """The ledger of the demo, the password of each person, and the token of each analyst.

    ``sources``: a folder with a file that the curator may have opened.
    """

    ledger: str
    sources: Path
    passwords: dict[str, str]
    tokens: dict[str, str]


def set_up(folder: Path) -> DemoServer:
    """Make a ledger with a data set, people and releases in a folder."""
    url = str(folder / "ledger.db")
    spec = Spec.load(examples.path("rochdale"))
    declared = DataSpec.load(_declared(spec))
    with Ledger.create(url) as ledger:
        house = House(ledger)
        house.tables.make()
        ledger.register(DATASET, declared.notion, PureDP(_CAP))
        rows = {_TABLE: _households(spec)}
        pipeline.open_data(declared, rows, ledger=ledger, dataset=DATASET, place=folder / "store")
        passwords = {name: token_urlsafe(9) for name in (CURATOR, *ANALYSTS)}
        house.people.accept(house.people.invite("curator", CURATOR), CURATOR, passwords[CURATOR])
        tokens = {name: _analyst(house, name, passwords[name]) for name in ANALYSTS}
        _ask(house)
    return DemoServer(url, _sources(folder), passwords, tokens)


def _sources(folder: Path) -> Path:
    """A folder with made-up people, as the page on which data sets are opened declares them for an example."""
    place, chance = folder / "sources", Random(1)
    place.mkdir()
    lines = [
        f"{chance.choice(('north', 'south'))},{chance.randint(0, 99)},{100 * int(chance.expovariate(1 / 400))}"
        for _ in range(_PEOPLE)
    ]
    replace_file(place / "people.csv", "\n".join(["region,age,income", *lines, ""]).encode())
    return place


def _declared(spec: Spec) -> dict[str, Any]:
    columns = {one.name: list(one.values) for one in spec.domain}
    return {"title": "Households of Rochdale", "tables": {_TABLE: {"rows": _ROWS, "columns": columns}}}


def _households(spec: Spec) -> Any:
    """A row for each household. The data set is public: of confidential data nobody makes this."""
    names = spec.domain.names
    table = pipeline.count(spec, tables=[names]).table(names).to_pandas()
    return table.loc[table.index.repeat(table["count"]), list(names)].astype(str)


def _analyst(house: House, name: str, password: str) -> str:
    """An analyst with half of the cap and a token."""
    house.ledger.add_account(name)
    house.ledger.grant(name, DATASET, PureDP(_CAP / len(ANALYSTS)))
    person = house.people.accept(house.people.invite("analyst", name), name, password)
    return house.tokens.make(person, ALLOWED["analyst"], label="demo", days=1)[1]


def _ask(house: House) -> None:
    """What was asked so far, as the server has it asked, so that it is in the history of each."""
    ann, bob = ANALYSTS
    (opened,) = house.ledger.records(Opened)
    slot = Slot(house.ledger, opened, timed=False)
    try:
        data = house.opened_data(DATASET)
        asked = [(ann, f"{_TABLE} tables({' * '.join(names)})", _EACH) for names in _RELEASED] + [(bob, _ASKED, _REST)]
        for account, text, amount in asked:
            node = parsed(text, data)
            assert isinstance(node, Aggregate)
            question = question_of(data, node, PureDP(amount))
            house.jobs.put(request_id(account, text), account, DATASET, question.asked_json())
            slot.step(Event())
            if account == ann:
                publish(house, request_id(account, text))
    finally:
        slot.close()
