"""Each fault of each field of each message has the code that `bad_input.txt` says. Each field has a line there."""

from __future__ import annotations

import copy
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from eth_account import Account
from hypothesis import given, settings

from bilateral.core.contracts import Deployment
from bilateral.core.identifiers import GlobalAgentId
from bilateral.documents import Loader, RegistrationFile
from bilateral.documents.data_uri import encode_data_uri
from bilateral.documents.hashing import document_hash
from bilateral.node.running import StepRunner
from bilateral.x402 import (
    PROFILE_DRAFT,
    ClientAgent,
    InteractionData,
    InvalidMessageError,
    Outcome,
    ReputationInfo,
    SettlementReceipt,
    Verifier,
)
from bilateral.x402.aggregator import evidence
from bilateral.x402.aggregator.messages import Submission
from bilateral.x402.aggregator.refusals import FeedbackRefusedError
from bilateral.x402.offers import decode_header
from bilateral.x402.proof.answers import payment_of
from tests.x402 import examples
from tests.x402.aggregator.world import Review
from tests.x402.test_draft_messages import STATEMENT as DRAFT_STATEMENT
from tests.x402.test_messages import EVM_INTERACTION, INFO, damaged
from tests.x402.test_readers import KEY, REGISTRY, Ledger, paid_answer
from tests.x402.world import encoded, signer_entry

FAULTS = ("missing", "type", "length", "form", "chain", "case")

TABLES = {
    name: [line.split() for line in lines if line]
    for name, *lines in (
        part.split("\n") for part in Path(__file__).with_name("bad_input.txt").read_text().split("\n# ")[1:]
    )
}
LINES = [(message, *line) for message, table in TABLES.items() for line in table]

TWICE = {
    "registration file": "malformed_file",
    "feedback file": "refused",
    "post to an aggregator": "INVALID_PAYLOAD",
    "payment whose answer was lost": "not_kept",
}
"""The code of a name that occurs twice; that of a header is `unreadable`."""

REGISTRATION_FILE = {
    **RegistrationFile.new(
        "Weather",
        "It forecasts",
        "https://agent.example/i.png",
        services=[{"name": "web", "endpoint": "https://agent.example/", "version": "1"}],
        signers=[signer_entry(KEY, valid_until=2**40) | {"comment": "hot"}],
        registrations=[{"agentId": examples.MINT, "agentRegistry": REGISTRY}],
    ).to_object(),
    "x402Support": True,
    "active": True,
    "supportedTrust": ["reputation"],
}


def review():
    """Return a review of a payment that nobody made."""
    deployment = Deployment(31337, "0x" + "ab" * 20, "0x" + "cd" * 20)
    reviewer, task_ref = Account.from_key(bytes(range(3, 35))), f"eip155:31337:0x{'ab' * 32}"
    agent = GlobalAgentId(deployment.agent_registry, "7")
    return Review(reviewer, deployment, agent, task_ref, deadline=2**40, decimals=1).bound()


REVIEW = review()
POST = {**REVIEW.object, "interactionData": {**REVIEW.object["interactionData"], "dataHash": "ab" * 32}}
TAGS = {"tags": ["x402-resource-delivered", "proof-of-participation"], "comment": "warm"}
EXAMPLES = {
    "declaration": INFO,
    "declaration of the draft": {
        "version": "1.0.0",
        "registrations": [{"agentRegistry": INFO["registrations"][0]["agentRegistry"], "agentId": "42"}],
    },
    "claim to be an agent": examples.CLIENT_PAYLOAD["8004-reputation"],
    "settlement": {
        "success": True,
        "network": examples.BASE,
        "transaction": "0x" + "ab" * 32,
        "payer": examples.IDENTITY,
        "extensions": {},
    },
    "settlement of the specification": {"settlementResponse": examples.PAYMENT_RESPONSE["settlementResponse"]},
    "statement": EVM_INTERACTION,
    "statement of the draft": DRAFT_STATEMENT,
    "registration file": REGISTRATION_FILE,
    "feedback file": REVIEW.file() | TAGS,
    "post to an aggregator": POST,
    "payment whose answer was lost": {"extensions": {"payment-identifier": {"info": {"id": "a-secret-of-16-or-more"}}}},
}


def fields_of(value, path=""):
    """Return the paths of all fields of a message, and of the first element of each list of objects."""
    for name, inner in value.items() if isinstance(value, dict) else ():
        here = f"{path}.{name}".removeprefix(".")
        yield here
        yield from fields_of(inner, here)
    if isinstance(value, list) and isinstance(value[0], dict):
        yield f"{path}[0]"
        yield from fields_of(value[0], f"{path}[0]")


def at(message, path):
    """Return a copy of a message, the object or list that holds a field, and the field's name there."""
    altered = holder = copy.deepcopy(message)
    *parents, name = (int(match[1:-1]) if match[0] == "[" else match for match in re.findall(r"[^.\[]+|\[\d+\]", path))
    for parent in parents:
        holder = holder[parent]
    return altered, holder, name


ADDRESS = re.compile(r"0x[0-9a-fA-F]{40}(?![0-9a-fA-F])")
DIGITS = re.compile(r"(.*0x|)([0-9a-fA-F]{64,})")
CHAIN = re.compile(r"eip155:\d+|solana:\w{32}")


def other_case(text):
    """Return an identifier in a case that it must not have, or need not have; None for any other text."""
    if ADDRESS.search(text):
        digits = ADDRESS.search(text)[0][2:].lower()
        return ADDRESS.sub("0x" + "".join(digit.upper() if at % 2 else digit for at, digit in enumerate(digits)), text)
    if DIGITS.fullmatch(text):
        return DIGITS.sub(lambda match: match[1] + match[2].upper(), text)
    if text in {"secp256k1", "ed25519", "owner", "delegate"}:
        return text.upper()
    is_on_solana = any(entry in text for entry in (examples.MINT, examples.PROGRAM, examples.SOLANA_TRANSACTION))
    return text.swapcase() if is_on_solana else None


def with_fault(value, fault):
    """Return a value with a fault; None if it cannot have it."""
    kind = next(entry for entry in (bool, str, int, list, dict) if isinstance(value, entry))
    if fault in {"chain", "case"}:
        if kind is not str:
            return None
        moved = CHAIN.sub("solana:" + "4" * 32 if "solana" in value else "eip155:1", value)
        return other_case(value) if fault == "case" else moved if moved != value else None
    return {
        "type": {bool: "yes", str: [value], int: "seven", list: {}, dict: []},
        "length": {
            str: "A" * 2_000_000,
            int: 10**400,
            list: value * 70 if kind is list else None,
            dict: {**value, **{f"field {number}": 7 for number in range(70)}} if kind is dict else None,
        },
        "form": {str: "?", int: -1, list: [], dict: {}},
    }[fault].get(kind)


class Reader:
    """Reads messages as their receivers do. Each function returns the code, and the field that the error names."""

    def __init__(self):
        self.ledger = Ledger()
        self.verifier = Verifier({}, readers=[self.ledger])
        self.submission = REVIEW.message
        self.messages = {
            "declaration": ReputationInfo.of,
            "declaration of the draft": PROFILE_DRAFT.info_of,
            "claim to be an agent": ClientAgent.of,
            "settlement": SettlementReceipt.of,
            "settlement of the specification": SettlementReceipt.of,
            "statement": InteractionData.of,
            "statement of the draft": PROFILE_DRAFT.statement_of,
            "post to an aggregator": Submission.of,
        }
        self.documents = {
            "registration file": self.registration_file,
            "feedback file": self.feedback_file,
            "post to an aggregator": Submission.from_bytes,
            "payment whose answer was lost": lambda content: None if payment_of(encoded(content)) else "not_kept",
        }

    def read(self, message, value):
        """Return the code of a message."""
        if message not in self.messages:
            return self.read_bytes(message, json.dumps(value).encode())
        try:
            self.messages[message](value)
        except InvalidMessageError as error:
            return error.fault, error.field
        except FeedbackRefusedError as error:
            return error.details["fault"], error.details["field"]
        return "ok", ""

    def read_bytes(self, message, content):
        """Return the code of a message as it was sent."""
        if message not in self.documents:
            return "ok" if decode_header(encoded(content)) else "unreadable", ""
        try:
            parsed = self.documents[message](content)
        except FeedbackRefusedError as error:
            return error.code.value, error.details["field"]
        return parsed if isinstance(parsed, str) else "ok", ""

    def registration_file(self, content):
        self.ledger.uris = {examples.MINT: encode_data_uri(content)}
        checks = self.verifier.verify(paid_answer()).checks
        return next((check.code for check in checks if check.outcome is not Outcome.PASSED), None)

    def feedback_file(self, content):
        altered = replace(
            self.submission.feedback, feedback_uri=encode_data_uri(content), feedback_hash=document_hash(content)
        )
        submission = replace(self.submission, feedback=altered)
        try:
            file = StepRunner(None).run(evidence._feedback_file(Loader(), submission))
        except FeedbackRefusedError as error:
            assert (error.code.value, error.details["field"]) == ("INVALID_PAYLOAD", "sponsored.feedbackURI")
            return "refused"
        return None if file else "unchecked"


@pytest.fixture(scope="module")
def reader():
    return Reader()


@pytest.mark.parametrize("message", TABLES)
def test_table_has_every_field_of_a_message(message, reader):
    assert sorted(line[1] for line in LINES if line[0] == message) == sorted(fields_of(EXAMPLES[message]))
    assert reader.read(message, EXAMPLES[message]) == ("ok", "")


@pytest.mark.parametrize(("message", "path", "codes"), [(message, path, codes) for message, path, *codes in LINES])
def test_each_fault_of_a_field_has_its_code(reader, message, path, codes):
    accepted = []
    for fault in FAULTS:
        changed, holder, name = at(EXAMPLES[message], path)
        value = None if fault == "missing" else with_fault(holder[name], fault)
        if fault == "missing":
            del holder[name]
        elif value is not None:
            holder[name] = value
        code, field = reader.read(message, changed) if fault == "missing" or value is not None else ("-", "")
        accepted.append(code if field in {"", path} else f"{code}@{field.rpartition('.')[2]}")
    assert accepted == codes


@pytest.mark.parametrize("message", TABLES)
def test_unknown_field_is_ignored_in_every_object(reader, message):
    for path in ("all", *(f"all.{field}" for field in fields_of(EXAMPLES[message]))):
        changed, holder, name = at({"all": EXAMPLES[message]}, path)
        place = holder[name]
        if isinstance(place, dict):
            place["unknown"] = {"more": [1]}
            assert reader.read(message, changed["all"]) == ("ok", ""), path


@pytest.mark.parametrize("message", TABLES)
def test_name_that_occurs_twice_makes_a_message_unreadable(reader, message):
    for path in fields_of(EXAMPLES[message]):
        changed, holder, name = at(EXAMPLES[message], path)
        if isinstance(name, str):
            holder["\0"] = holder[name]
            content = json.dumps(changed).replace(json.dumps("\0"), json.dumps(name)).encode()
            assert reader.read_bytes(message, content)[0] == TWICE.get(message, "unreadable"), path


@pytest.mark.parametrize("message", ["post to an aggregator", "feedback file", "payment whose answer was lost"])
def test_any_damaged_message_is_read_or_refused(reader, message):
    @settings(max_examples=150, deadline=None, derandomize=True)
    @given(damaged(EXAMPLES[message]))
    def check(value):
        code, field = reader.read_bytes(message, json.dumps(value).encode("utf-8", "surrogatepass"))
        assert (code + field).isprintable()

    check()
