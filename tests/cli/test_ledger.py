"""The commands of `margrave ledger`, as people type them."""

import json

import pytest

from tests.ledger import commands

run = commands.run


@pytest.mark.slow
def test_a_day_at_the_bank(run, tmp_path):
    assert "no ledger ledger.db" in run("ledger", "show", code=1)
    assert "is ready" in run("ledger", "init")
    run("ledger", "dataset", "survey@2024", "--spec", "spec.toml", "--cap", "epsilon=3", "--most", "epsilon=1")
    run("ledger", "account", "uni", "--organisation")
    run("ledger", "account", "ann", "--member-of", "uni")
    run("ledger", "grant", "uni", "survey@2024", "epsilon=1", "--expires", "2999-01-01")
    charged = ("release", "spec.toml", "--ledger", "ledger.db", "--account", "ann")
    run(*charged, "--request", "first", "--out", "out")
    run(*charged, "--out", "again.zip")
    told = run("ledger", "history")
    assert "ann asked survey@2024 1 noisy questions at a price of ε = 1" in told
    assert [row["kind"] for row in json.loads(run("ledger", "history", "--json"))][-3:] == [
        "reserve",
        "drawn",
        "commit",
    ]
    shown = run("ledger", "show")
    assert "survey@2024" in shown
    balances = json.loads(run("ledger", "show", "--json"))
    assert balances["grants"][0]["account"] == "uni"
    assert float(balances["datasets"][0]["left"]) <= 2.000001
    assert "2 bundles elsewhere were charged here" in run("ledger", "verify", "--against", ".")
    assert json.loads(run("ledger", "verify", "--json"))["entries"] == 8
    assert "discrete laplace" in run("ledger", "export", "survey")
    run("ledger", "export", "survey", "--json", "--out", "statement.json")
    said = json.loads((tmp_path / "statement.json").read_text())
    assert said["requests"][0]["cost"] == {"epsilon": "1"}
    assert said["requests"][0].keys().isdisjoint({"status", "release"})
    disclosed = json.loads(run("ledger", "export", "survey", "--registry"))
    assert disclosed["privacy_unit"] == said["unit"] and disclosed["privacy_loss"]["spent"] == said["spent"]
    assert disclosed["neighbouring_relation"]["kind"] == "add-remove" and disclosed["public_facts"] == []
    assert disclosed["releases"][0]["loss"] == {"epsilon": "1"}
    assert disclosed["releases"][0]["mechanisms"][0]["noise"]["kind"] == "discrete-laplace"
    assert "ann" not in json.dumps(disclosed) and "uni" not in json.dumps(disclosed).replace("unit", "")
    mine = json.loads(run("ledger", "history", "--account", "ann", "--json"))
    assert [row["kind"] for row in mine] == ["account", "account", "grant", "reserve"]
    assert all("hash" not in row for row in mine)
    shown = json.loads(run("ledger", "show", "--account", "ann", "--json"))
    assert [one["account"] for one in shown["grants"]] == ["uni"]
    assert shown["ledger"]["entries"] == mine[-1]["number"] == said["ledger"]["entries"] == 6
    assert "there is no account eve" in run("ledger", "show", "--account", "eve", code=2)
    assert "there is no account eve" in run("ledger", "history", "--account", "eve", code=2)
    run("ledger", "grant", "uni", "survey@2024", "--end")
    (tmp_path / "spec.toml").write_text(commands.SPEC.replace("1.0", "0.5"))
    assert "expired" in run(*charged, code=3)


def test_what_is_wrong_has_its_exit_code(run, tmp_path):
    run("ledger", "init")
    assert "exists already" in run("ledger", "init", code=1)
    assert "no budget" in run("ledger", "dataset", "a@1", "--spec", "spec.toml", "--cap", "3", code=2)
    assert "names no version" in run("ledger", "dataset", "a", "--spec", "spec.toml", "--cap", "rho=1", code=2)
    assert "say how much" in run("ledger", "grant", "ann", "a@1", code=2)
    assert "name it with --ledger" in run("release", "spec.toml", "--account", "ann", code=2)
    content = bytearray((tmp_path / "ledger.db").read_bytes())
    at = content.rindex(b'"kind":"open"')
    content[at + 2] ^= 1
    (tmp_path / "ledger.db").write_bytes(content)
    assert "entry 1 was changed" in run("ledger", "verify", code=4)
    assert "no such folder" in run("ledger", "verify", "--against", "nowhere", code=2)


@pytest.mark.slow
def test_a_part_of_delta_is_set_apart_for_requests_with_a_delta_of_their_own(run):
    run("ledger", "init")
    limit, part = "epsilon=1,delta=1e-6", ("--event-delta", "1e-7")
    run("ledger", "dataset", "a@1", "--spec", "spec.toml", "--cap", limit, *part)
    run("ledger", "dataset", "b@1", "--spec", "spec.toml", "--cap", limit)
    run("ledger", "account", "ann")
    run("ledger", "grant", "ann", "a@1", limit, *part)
    assert "more than the cap" in run("ledger", "grant", "ann", "b@1", limit, *part, code=3)
    assert "is not a number" in run("ledger", "grant", "ann", "b@1", limit, "--event-delta", "some", code=2)
    shown = json.loads(run("ledger", "show", "--json"))
    assert [row["limit"]["events"] for row in (*shown["datasets"], *shown["grants"])] == ["1e-7", "0", "1e-7"]
    assert shown["datasets"][0]["left_rho"] == shown["datasets"][0]["limit"]["rho"]
    assert "ε = 1 or ρ = 0.0" in run("ledger", "show")
