"""Invitations, passwords, logins and tokens: nothing can be read back, nothing holds for ever."""

import pytest

from margrave.errors import RefusedError, UsageError
from margrave.ledger import Ledger
from margrave.serve.kept import people as people_module
from margrave.serve.kept import tokens as tokens_module
from margrave.serve.kept.people import INVITED, LOGGED_IN, PeopleTable, Person
from margrave.serve.kept.tables import ServerTables, now
from margrave.serve.kept.tokens import Tokens
from tests.serve.served import PASSWORD


@pytest.fixture
def tables(tmp_path):
    with Ledger.create(tmp_path / "ledger.db") as ledger:
        found = ServerTables(ledger)
        found.make()
        found.make()
        yield found


@pytest.fixture
def people(tables):
    return PeopleTable(tables)


@pytest.fixture
def ann(people):
    return people.accept(people.invite("analyst", "ann"), "ann", PASSWORD)


def later(monkeypatch, seconds):
    for module in (people_module, tokens_module):
        monkeypatch.setattr(module, "now", lambda: now() + seconds)


def test_an_invitation_lets_one_person_in_once(people):
    secret = people.invite("curator")
    assert people.accept(secret, "carla", PASSWORD) == Person("carla", "curator")
    with pytest.raises(RefusedError, match="used already"):
        people.accept(secret, "eve", PASSWORD)
    assert people.every() == [Person("carla", "curator")]


def test_an_invitation_for_a_name_is_for_nobody_else(people):
    secret = people.invite("analyst", "ann")
    with pytest.raises(RefusedError, match="invitation"):
        people.accept(secret, "eve", PASSWORD)
    assert people.accept(secret, "ann", PASSWORD).name == "ann"


def test_an_open_invitation_takes_nobodys_name(people, ann):
    with pytest.raises(RefusedError, match="taken"):
        people.accept(people.invite("curator"), "ann", PASSWORD)
    assert people.named("ann") == ann


def test_an_invitation_expires(people, monkeypatch):
    secret = people.invite("analyst", "ann")
    later(monkeypatch, INVITED + 1)
    with pytest.raises(RefusedError, match="expired"):
        people.accept(secret, "ann", PASSWORD)


@pytest.mark.parametrize("password", ["short", "x" * 300, "aaaaaaaaaaaaaaa", "xx-ann-xx-12345"])
def test_passwords_that_are_easy_to_guess_are_refused(people, password):
    with pytest.raises(UsageError, match="password"):
        people.accept(people.invite("analyst", "ann"), "ann", password)


def test_a_new_invitation_sets_a_new_password_and_ends_logins(people, ann):
    login = people.log_in("ann", PASSWORD)
    people.accept(people.invite("analyst", "ann"), "ann", "another battery horse")
    assert people.logged_in(login.secret) is None
    with pytest.raises(RefusedError, match="wrong"):
        people.log_in("ann", PASSWORD)
    assert people.log_in("ann", "another battery horse").person == ann


def test_a_login_holds_until_it_ends(people, ann, monkeypatch):
    login = people.log_in("ann", PASSWORD)
    assert people.logged_in(login.secret).guard == login.guard
    other = people.log_in("ann", PASSWORD)
    people.log_out(other.secret)
    assert people.logged_in(other.secret) is None and people.logged_in(login.secret) is not None
    later(monkeypatch, LOGGED_IN + 1)
    assert people.logged_in(login.secret) is None


def test_nobody_comes_in_by_a_name_that_was_disabled(people, tables, ann):
    login, (_, secret) = people.log_in("ann", PASSWORD), Tokens(tables).make(ann, ["read"])
    people.disable("ann")
    assert people.logged_in(login.secret) is None and Tokens(tables).holder(secret) is None
    with pytest.raises(RefusedError, match="wrong"):
        people.log_in("ann", PASSWORD)
    with pytest.raises(UsageError, match="nobody"):
        people.disable("eve")


def test_whoever_was_disabled_comes_back_by_a_new_invitation_alone(people, tables, ann):
    older, (_, secret) = people.invite("analyst", "ann"), Tokens(tables).make(ann, ["read"])
    people.disable("ann")
    with pytest.raises(RefusedError, match="invitation"):
        people.accept(older, "ann", PASSWORD)
    people.accept(people.invite("analyst", "ann"), "ann", PASSWORD)
    assert people.log_in("ann", PASSWORD).person == ann and Tokens(tables).holder(secret) is None


def test_no_secret_is_kept(people, tables, ann):
    login = people.log_in("ann", PASSWORD)
    _, token = Tokens(tables).make(ann, ["read"])
    invitation = people.invite("analyst", "bob")
    with tables.reading() as session:
        names = ("server_person", "server_invitation", "server_login", "server_token")
        kept = str([list(session.rows(f"SELECT * FROM {name}")) for name in names])
    assert "$argon2id$" in kept
    assert not any(secret in kept for secret in (PASSWORD, login.secret, token, invitation))


def test_tokens_are_scoped_expire_and_can_be_revoked(tables, ann, monkeypatch):
    tokens = Tokens(tables)
    token, secret = tokens.make(ann, ["read", "ask", "read"], label="notebook", days=2)
    assert tokens.holder(secret) == (ann, ("read", "ask"))
    assert tokens.holder(secret[:-1] + "x") is None
    assert [one.label for one in tokens.of("ann")] == ["notebook"] and tokens.of("bob") == []
    with pytest.raises(LookupError):
        tokens.revoke(token.id, "bob")
    with monkeypatch.context() as patch:
        later(patch, 2 * 86_400 + 1)
        assert tokens.holder(secret) is None
    tokens.revoke(token.id, "ann")
    assert tokens.holder(secret) is None and tokens.of()[0].revoked


@pytest.mark.parametrize(("scopes", "days"), [([], 1), (["curate"], 1), (["all"], 1), (["read"], 0), (["read"], 400)])
def test_tokens_that_do_more_than_their_owner_are_not_made(tables, ann, scopes, days):
    with pytest.raises(UsageError):
        Tokens(tables).make(ann, scopes, days=days)


def test_names_and_roles_are_checked_at_birth():
    with pytest.raises(UsageError, match="name"):
        Person("<script>", "analyst")
    with pytest.raises(UsageError, match="role"):
        Person("ann", "king")
