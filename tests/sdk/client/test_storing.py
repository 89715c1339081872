"""Documents are shown to others only once the registry would take what refers to them."""

from __future__ import annotations

import pytest

from bilateral.client import Client
from bilateral.core.contracts.codec import ContractRevertError
from bilateral.core.errors import BilateralError, InsufficientFundsError, MissingSignerError
from bilateral.documents import RegistrationFile, StoredDocument, prepare_feedback_file

FILE = RegistrationFile.new("Agent", "It works", "https://agent.example/i.png")
FEEDBACK = prepare_feedback_file(text="Fine")
NOBODY = 10**9
SOMEBODY = "0x8004B663056A597Dffe9eCcC1965A193B7388713"


class PublicStore:
    """A store that others see at once, and which is asked for what it was given."""

    def __init__(self):
        self.contents = []

    def put(self, content):
        self.contents.append(content)
        return StoredDocument(f"https://store.example/{len(self.contents)}", content)


WRITES = {
    "register_agent": {"file": FILE},
    "set_agent_uri": {"agent_id": NOBODY, "file": FILE},
    "give_feedback": {"agent_id": NOBODY, "value": 1, "feedback_file": FEEDBACK},
    "sign_feedback": {"agent_id": NOBODY, "value": 1, "feedback_file": FEEDBACK},
    "append_response": {
        "agent_id": NOBODY,
        "client_address": SOMEBODY,
        "feedback_index": 0,
        "response": "Thank you",
    },
    "give_authorized_feedback": {"agent_id": NOBODY, "score": 1, "feedback_auth": b"", "file": FEEDBACK},
    "request_validation": {"agent_id": NOBODY, "validator_address": SOMEBODY, "document": b"this"},
}


@pytest.mark.parametrize("method", WRITES)
def test_nothing_is_stored_for_a_client_that_cannot_sign(connect, method):
    store = PublicStore()
    with pytest.raises(MissingSignerError):
        getattr(connect(store=store), method)(**WRITES[method])
    assert store.contents == []


@pytest.mark.parametrize("method", sorted(set(WRITES) - {"register_agent"}))
def test_nothing_is_stored_for_what_the_registry_refuses(connect, reviewer, method):
    store = PublicStore()
    with pytest.raises(ContractRevertError):
        getattr(connect(reviewer, store=store), method)(**WRITES[method])
    assert store.contents == []


def test_nothing_is_stored_for_an_account_that_cannot_pay(connect, newcomer, web3):
    store = PublicStore()
    web3.provider.make_request("anvil_setBalance", [newcomer.address, "0x0"])
    with pytest.raises(InsufficientFundsError):
        connect(newcomer, store=store).register_agent(file=FILE)
    assert store.contents == []


def test_a_document_of_an_accepted_write_is_stored_once(connect, owner):
    store = PublicStore()
    assert connect(owner, store=store).register_agent(file=FILE).wait().uri == "https://store.example/1"
    assert store.contents == [FILE.to_bytes()]


def test_signed_feedback_names_the_file_that_was_stored(connect, newcomer, payer, agent):
    store = PublicStore()
    signed = connect(newcomer, store=store).sign_feedback(agent, 1, feedback_file=FEEDBACK)
    assert signed.feedback.feedback_uri == "https://store.example/1"
    submit_signed_feedback = connect(payer).submit_signed_feedback(signed).wait()
    assert submit_signed_feedback.event.hash == StoredDocument("", store.contents[0]).hash


@pytest.mark.parametrize("connect", [Client], indirect=True)
def test_a_store_that_fails_sends_nothing(connect, newcomer, web3):
    class BrokenStore:
        def put(self, _):
            raise BilateralError("no room")

    with pytest.raises(BilateralError, match="no room"):
        connect(newcomer, store=BrokenStore()).register_agent(file=FILE)
    assert web3.eth.get_transaction_count(newcomer.address, "pending") == 0
