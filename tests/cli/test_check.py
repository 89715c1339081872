"""`bilateral check …`, on an index of a ledger."""

from __future__ import annotations

import json

import pytest

from bilateral.index.log.database import open_database
from bilateral.index.log.store import ChainStore
from bilateral.index.projections import PROJECTIONS
from tests.checks.conftest import loader  # noqa: F401  # a fixture
from tests.checks.ledger import CHAIN_ID, Ledger, account, client_rated, feedback, registered

OWNER, OTHER, CLIENT = account(0xA1), account(0xA2), account(0xC1)
CLIENTS = [account(0xC000 + number) for number in range(20)]


@pytest.fixture
def database(tmp_path, loader):  # noqa: F811  # a fixture
    url = f"sqlite:///{tmp_path / 'index.sqlite'}"
    engine = open_database(url)
    ledger = Ledger(engine, ChainStore(engine, CHAIN_ID, PROJECTIONS), loader)
    ledger.block(registered(1, OWNER), registered(2, CLIENT))
    ledger.block(*(feedback(1, client, 95) for client in CLIENTS), client_rated(2, 1, 35))
    engine.dispose()
    return url


@pytest.fixture
def policy(tmp_path):
    path = tmp_path / "policy.toml"
    listed = ", ".join(f'"{client}"' for client in CLIENTS)
    path.write_text(f'[trust]\naccounts = [{listed}]\n[severities]\nno_file = "note"\nnot_analysed = "note"\n')
    return path


def test_exit_code_is_the_verdict(bilateral, database, policy):
    ask = ("check", "server", "1", "--database", database)
    assert bilateral(*ask).code == 12
    assert bilateral(*ask, "--policy", policy).code == 0
    assert bilateral(*ask, "--policy", policy, "--minimum-rating", "96").code == 13
    assert bilateral(*ask, "--policy", policy, "--pay-to", OWNER).code == 0
    assert bilateral(*ask, "--policy", policy, "--pay-to", OTHER).code == 13


def test_policy_has_a_name_or_a_file(bilateral, database):
    ask = ("check", "server", "1", "--database", database)
    trust = [option for client in CLIENTS for option in ("--trust", client)]
    assert bilateral(*ask, "--policy", "balanced").code == 12
    assert bilateral(*ask, "--policy", "own-list", *trust).code == 12
    assert "caution: no_file" in bilateral(*ask, "--policy", "own-list", *trust).out
    assert bilateral(*ask, "--policy", "own-list", "--trust", OTHER).code == 13
    assert bilateral(*ask, "--policy", "strict", *trust).code == 12
    assert bilateral(*ask, "--policy", "strict", "--trust", OTHER).code == 13
    refused = bilateral(*ask, "--policy", "own-list")
    assert (refused.code, "own-list counts only your own reviewers" in refused.err) == (3, True)
    assert '"lenient" cannot be read' in bilateral(*ask, "--policy", "lenient").err


def test_people_see_the_verdict_and_the_reasons(bilateral, database):
    ran = bilateral("check", "server", "1", "--pay-to", OTHER, "--database", database)
    assert "decline: pay_to_differs" in ran.out
    assert f"The payment would go to {OTHER}" in ran.out


def test_machines_see_the_evidence_and_can_ask_again(bilateral, database):
    first = bilateral("check", "client", CLIENT, "--server", "1", "--database", database, "--json")
    assert first.code == 13
    (reason,) = [reason for reason in first.json["reasons"] if reason["code"] == "low_rating_by_us"]
    assert (reason["severity"], reason["evidence"][0]["event"]) == ("decline", "ClientRated")
    moment = ("--at-block", str(first.json["block"]), "--history", first.json["history"])
    again = bilateral("check", "client", CLIENT, "--server", "1", "--database", database, "--json", *moment)
    assert again.json == first.json


@pytest.mark.parametrize("question", [("server", "1"), ("client", CLIENT)], ids=["server", "client"])
def test_earlier_answer_is_repeated(bilateral, refused, database, tmp_path, question):
    ask = ("check", *question, "--database", database)
    first = bilateral(*ask, "--json")
    answer = tmp_path / "answer.json"
    answer.write_text(json.dumps(first.json))
    again = bilateral(*ask, "--json", "--repeat", str(answer))
    assert (again.json, again.code) == (first.json, first.code)
    assert refused(2, *ask, "--repeat", str(answer), "--at-block", "1")["reason"] == "usage"
    answer.write_text(json.dumps({**first.json, "side": "validator"}))
    assert "is a check result for a validator" in refused(2, *ask, "--repeat", str(answer))["message"]
    answer.write_text("[]")
    assert "save one with --json" in refused(2, *ask, "--repeat", str(answer))["message"]


@pytest.mark.parametrize(
    ("code", "reason", "arguments"),
    [
        (14, "unknown_agent", ["server", "9"]),
        (14, "chain_not_indexed", ["server", "5:1"]),
        (14, "block_not_held", ["server", "1", "--at-block", "99"]),
        (14, "other_history", ["server", "1", "--history", "0x" + "00" * 32]),
        (3, "malformed_identifier", ["client", "x"]),
        (3, "invalid_argument", ["server", "1", "--trust", "0x12"]),
        (3, "invalid_argument", ["server", "1", "--minimum-rating", "101"]),
        (3, "invalid_argument", ["server", "1", "--policy", "/nonexistent"]),
        (3, "invalid_argument", ["server", "1", "--history", "0x12"]),
        (3, "invalid_argument", ["server", "1", "--amount", "much"]),
        (2, "usage", ["server", "1", "--payment-chain", "1"]),
    ],
    ids=str,
)
def test_question_without_an_answer_has_an_exit_code(refused, database, code, reason, arguments):
    assert refused(code, "check", *arguments, "--database", database)["reason"] == reason
