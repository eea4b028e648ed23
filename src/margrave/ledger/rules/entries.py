"""What each entry does to the records, and when it is refused. The same rules write the journal and verify it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from margrave.budget.units import Budget
from margrave.errors import RefusedError, UsageError
from margrave.ledger.amounts import budget_or_none, limit_or_none, read_limit
from margrave.ledger.journal import NO_MARK, RESERVING, START, Entry, canonical, is_public, next_mark
from margrave.ledger.records import Account, DataSet, Grant, Grants, Keys, Members, Opened, Pool, Tip
from margrave.ledger.rules import charges, purses, questions
from margrave.ledger.rules.limits import Filter, kept
from margrave.ledger.rules.lookup import need_account, need_asked, need_dataset, need_members, need_pool
from margrave.ledger.values import Notion, check_account_name, check_data_name, check_day, check_digest
from margrave.ledger.view import View


def apply(view: View, entry: Entry, entry_hash: str, body_text: str | None = None) -> Tip:
    """Let an entry have its effect, or raise the reason why it is refused, leaving the view to be thrown away.

    Gives back where the ledger then stands. ``body_text`` is the canonical text of the body, where it is known.
    """
    tip = view.get(Tip)
    if (entry.kind == "open") != (tip is None):
        raise UsageError("a ledger is opened once, by its first entry")
    if tip is not None and entry.time < tip.time and entry.kind != "clock":
        raise RefusedError(f"entry {entry.number} is dated before the entry that it follows")
    ledger = entry.body["ledger"] if tip is None else tip.ledger
    rules = _rules_of(entry, tip)
    _RULES[rules][entry.kind](view, entry.body, entry)
    mark = NO_MARK if tip is None else tip.mark
    if is_public(entry.kind, entry.body):
        mark = next_mark(mark, entry, body_text)
    if entry.kind in RESERVING:
        view.put(need_asked(view, entry.body["request"]).marked(mark))
    tip = Tip(ledger, entry.number, entry_hash, entry.time, rules, mark)
    view.put(tip)
    return tip


def _rules_of(entry: Entry, tip: Tip | None) -> int:
    """The rules that an entry follows: those of the entry before, unless it says which hold from it on."""
    if tip is not None and entry.kind != "rules":
        return tip.rules
    found = entry.body.get("rules", 1) if tip is None else entry.body["rules"]
    if type(found) is not int or found < 1:
        raise UsageError(f"rules have a number, not {found!r}")
    if found > NEWEST:
        raise UsageError(f"this Margrave knows rules up to {NEWEST}, and {found} hold from it on: use a newer Margrave")
    return found


def _open(view: View, body: Mapping[str, Any], entry: Entry) -> None:
    if entry.number != 1 or entry.previous != START:
        raise UsageError("a ledger is opened by its first entry")


def _rules(view: View, body: Mapping[str, Any], entry: Entry) -> None:
    """From here on newer rules hold; what was done before stays judged by those of its time."""
    tip = view.get(Tip)
    if tip is None or body["rules"] <= tip.rules:
        raise RefusedError(f"rules {body['rules']} hold already, or newer ones do")
    if tip.rules < 2:
        _keep_limits(view, [read_limit(one) for one in body["limits"]])


def limits_in(view: View) -> list[dict[str, str]]:
    """How each (ε, δ) limit of caps and grants is kept: what the entry says from which on they are kept so."""
    limits = [one.cap for one in view.every(Pool)]
    limits += [one.amount for held in view.every(Grants) for one in held.grants]
    found = {canonical(one.as_dict()): one.as_dict() for one in map(kept, limits) if one.delta}
    return [found[text] for text in sorted(found)]


def _keep_limits(view: View, said: Iterable[Budget]) -> None:
    """Every (ε, δ) limit of caps and grants gets the sums that keep it, as the entry has them."""
    known = {(one.amount, one.delta): _checked(one) for one in said if one.adaptive}

    def found(limit: Budget) -> Budget:
        if not limit.delta:
            return limit
        if (limit.amount, limit.delta) not in known:
            raise UsageError(f"the entry does not say how a limit of {limit} is kept")
        return known[limit.amount, limit.delta]

    for pool in view.every(Pool):
        view.put(pool._replace(cap=found(pool.cap)))
    for held in view.every(Grants):
        view.put(held._replace(grants=tuple(one._replace(amount=found(one.amount)) for one in held.grants)))


def _checked(limit: Budget) -> Budget:
    limit.check()
    return limit


def _kept(rule: Rule, name: str) -> Rule:
    """A rule for entries that say how an (ε, δ) limit, one of their fields, is kept."""

    def stricter(view: View, body: Mapping[str, Any], entry: Entry) -> None:
        limit = limit_or_none(body[name])
        if limit is not None and not _checked(limit).adaptive:
            raise UsageError(f"the entry does not say how a limit of {limit} is kept")
        rule(view, body, entry)

    return stricter


def _dataset(view: View, body: Mapping[str, Any], entry: Entry) -> None:
    name, version = body["name"], body["version"]
    check_data_name("the data set", name)
    check_data_name("the version", version)
    full, notion = f"{name}@{version}", Notion.from_json(body["notion"])
    cap, most = limit_or_none(body["cap"]), budget_or_none(body["most"])
    if view.get(DataSet, full) is not None:
        raise RefusedError(
            f"{full} is registered already, and what is registered never changes: new public facts or another unit "
            "would change the price of every release made so far"
        )
    pool = full if body["disjoint"] else name
    if body["disjoint"] and notion.facts:
        raise RefusedError(
            "versions with public facts cannot be declared disjoint: one person's change can move the records of "
            "others to keep a fact true, so their costs add up"
        )
    members = view.get(Members, pool)
    if members is None:
        if cap is None:
            raise UsageError(f"{full} is the first version under its cap: say how much may be spent in all")
        members = Members(pool)
        view.put(Pool(pool, cap))
    else:
        _check_shared(view, members, notion, cap, full)
    if "count" in body["notion"]:  # from here on it is told for all versions, the older ones included
        view.put(need_pool(view, pool)._replace(counted=notion.count or ""))
    if most is not None:
        _check_unit(view, pool, most, "the most for one request")
    view.put(replace(members, versions=(*members.versions, full)))
    view.put(DataSet(full, pool, notion, most))


def _check_shared(view: View, members: Members, notion: Notion, cap: Budget | None, full: str) -> None:
    """A further version is about some of the same people: one cap, one notion."""
    first = need_dataset(view, members.versions[0])
    shared = need_pool(view, members.pool).cap
    if cap is not None and not (cap.within(shared) and shared.within(cap)):
        raise RefusedError(
            f"{full} shares the cap of {first.name}, {shared}: leave the cap out, or declare the version to be about "
            "disjoint people"
        )
    different = need_pool(view, members.pool).notion(first).difference(notion)
    if different is not None:
        raise RefusedError(f"{full} cannot share the cap of {first.name}: they differ in {different}")


def _count(view: View, body: Mapping[str, Any], entry: Entry) -> None:
    """Rows of all versions under a cap stand for as many records as a column says: told once, if nothing else was."""
    data = need_dataset(view, body["dataset"])
    pool = need_pool(view, data.pool)
    if pool.counted is not None:
        there = f"stands for as many records as its column {pool.counted!r} says" if pool.counted else "is one record"
        raise RefusedError(
            f"each row of {data.name} {there}: it was registered so, or charged so, and people were promised "
            "protection on that ground. Register what has another meaning under another name"
        )
    pool = pool._replace(counted=replace(data.notion, count=body["column"]).count)
    view.put(pool)


def _opened(view: View, body: Mapping[str, Any], entry: Entry) -> None:
    """A data set is recoded once: a second recoding, cut or rounded otherwise, would be about the same people."""
    data = need_dataset(view, body["dataset"])
    if view.get(Opened, data.name) is not None:
        raise RefusedError(
            f"{data.name} is open for questions already, and is recoded once: register another version for another "
            "recoding"
        )
    view.put(Opened(data.name, body["declared"], body["place"]))


def _key(view: View, body: Mapping[str, Any], entry: Entry) -> None:
    check_digest("a public key", body["key"])
    held = view.get(Keys) or Keys()
    if body["key"] in held.keys[-1:]:
        raise RefusedError("the ledger holds this key already")
    view.put(Keys((*(one for one in held.keys if one != body["key"]), body["key"])))


def _account(view: View, body: Mapping[str, Any], entry: Entry) -> None:
    name, kind, organisation = body["name"], body["type"], body["organisation"]
    check_account_name("the account", name)
    if kind not in ("analyst", "organisation"):
        raise UsageError(f"an account is an analyst or an organisation, not {kind!r}")
    if view.get(Account, name) is not None:
        raise RefusedError(f"the account {name} exists already")
    if organisation is not None:
        if kind == "organisation":
            raise UsageError("an organisation cannot belong to another")
        if need_account(view, organisation).type != "organisation":
            raise UsageError(f"{organisation} is an analyst: only an organisation has members")
    view.put(Account(name, kind, organisation))


def _grant(view: View, body: Mapping[str, Any], entry: Entry) -> None:
    account, data = need_account(view, body["account"]), need_dataset(view, body["dataset"])
    granted, most = read_limit(body["amount"]), budget_or_none(body["most"])
    starts, expires = body["starts"], body["expires"]
    if starts is not None:
        check_day("the first day", starts)
    check_day("the day of expiry", expires)
    new = Grant(granted, starts or entry.time, expires, most)
    if new.ended(max(entry.time, new.starts)):
        raise UsageError(f"a grant that starts {new.starts[:10]} and expires {expires} can never be spent")
    _check_unit(view, data.pool, granted, "a grant")
    if most is not None:
        _check_unit(view, data.pool, most, "the most for one request")
    held = view.get(Grants, f"{data.pool}/{account.name}") or Grants(data.pool, account.name)
    if held.grants and not held.grants[-1].ended(new.starts):
        last = held.grants[-1]
        until = f"expires {last.expires}" if last.expires else "never expires"
        raise RefusedError(
            f"{account.name} holds a grant from {data.pool} that {until}: end it, or start this one then"
        )
    view.put(held._replace(grants=(*held.grants, new)))
    if account.organisation is None:
        members = need_members(view, data.pool)
        if account.name not in members.holders:
            view.put(replace(members, holders=(*members.holders, account.name)))
    _check_promises(view, data.pool, entry.time)


def _check_unit(view: View, pool: str, budget: Budget, what: str) -> None:
    cap = need_pool(view, pool).cap
    if not budget.same_unit(cap):
        raise UsageError(f"{what} ({budget}) must be in the unit of the cap of {pool} ({cap})")
    if not budget.within(cap):
        raise RefusedError(f"{what} ({budget}) is more than the cap of {pool} ({cap})")


def _check_promises(view: View, pool: str, time: str) -> None:
    """All that was granted at first hand can be spent: grants together stay within the cap."""
    total, delta = promised(view, pool, time)
    found = need_pool(view, pool)
    cap, spent = found.cap, found.spent
    if isinstance(cap, Filter) and not cap.holds(spent):
        raise RefusedError(f"what was charged to {pool} is beyond its cap ({cap}): nothing more can be granted")
    if total > cap.amount or delta > cap.delta:
        raise RefusedError(
            f"the grants from {pool} would add up to more than its cap ({cap}): end or lower another first"
        )


def promised(view: View, pool: str, time: str) -> tuple[Fraction, Fraction]:
    """The sum of the ε (or ρ), and of the δ, of all grants at first hand; of those that ended, what was spent."""
    total = delta = Fraction(0)
    for holder in need_members(view, pool).holders:
        held = view.get(Grants, f"{pool}/{holder}")
        for grant in held.grants if held else ():
            counted = grant.amount.together(grant.spent) if grant.ended(time) else grant.amount
            if counted is None and not grant.spent.empty:
                counted = grant.amount
            if counted is not None:
                total, delta = total + counted.amount, delta + counted.delta
    return total, delta


def _end(view: View, body: Mapping[str, Any], entry: Entry) -> None:
    account, data = need_account(view, body["account"]), need_dataset(view, body["dataset"])
    held = view.get(Grants, f"{data.pool}/{account.name}")
    running = [one for one in held.grants if not one.ended(entry.time)] if held else []
    if held is None or not running:
        raise UsageError(f"{account.name} holds no grant from {data.pool} that could be ended")
    ended = tuple(_ended(one, entry.time) for one in held.grants)
    view.put(held._replace(grants=ended))


def _ended(grant: Grant, time: str) -> Grant:
    return grant if grant.ended(time) else grant._replace(starts=min(grant.starts, time), expires=time)


def _clock(view: View, body: Mapping[str, Any], entry: Entry) -> None:
    """Time goes on from here, before the last entry, whose date was wrong. What had ended by then stays ended."""
    tip = view.get(Tip)
    if tip is None or entry.time >= tip.time:
        raise RefusedError("the last entry is not dated after now: there is nothing to set back")
    for held in view.every(Grants):
        view.put(held._replace(grants=tuple(_set_back(one, tip.time, entry.time) for one in held.grants)))


def _set_back(grant: Grant, wrong: str, right: str) -> Grant:
    """A grant once time was set back. One that was to hold from when it was entered, wrongly dated, holds from now."""
    if grant.ended(wrong):
        return _ended(grant, right)
    at_once = len(grant.starts) == len(right)
    return grant._replace(starts=min(grant.starts, right)) if at_once else grant


Rule = Callable[[View, Mapping[str, Any], Entry], None]

_FIRST: Mapping[str, Rule] = {
    "open": _open,
    "rules": _rules,
    "dataset": _dataset,
    "account": _account,
    "grant": _grant,
    "end": _end,
    "reserve": charges.reserve,
    "commit": charges.commit,
    "void": charges.void,
}
_SECOND: Mapping[str, Rule] = {
    **_FIRST,
    "dataset": _kept(_dataset, "cap"),
    "count": _count,
    "grant": _kept(_grant, "amount"),
    "clock": _clock,
    "key": _key,
    "opened": _opened,
    "reserve": questions.reserve,
    "escrow": purses.escrow,
    "spend": purses.spend,
    "drawn": questions.drawn,
    "commit": questions.commit,
    "failed": questions.failed,
    "void": purses.void,
}

_RULES: Mapping[int, Mapping[str, Rule]] = {1: _FIRST, 2: _SECOND}
"""By the number of the rules, what each kind of entry does. What is there never changes: old journals stay right."""

NEWEST = max(_RULES)
"""The rules that new entries follow."""
