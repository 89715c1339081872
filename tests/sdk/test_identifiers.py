"""Identifiers: CAIP-2, CAIP-10, agents, transactions and feedback (best practices; x402 extension)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bilateral.core.errors import MalformedIdentifierError
from bilateral.core.identifiers import (
    AccountId,
    AgentId,
    ChainId,
    FeedbackId,
    GlobalAgentId,
    TransactionRef,
    checksummed,
)
from tests.sdk.strategies import (
    EVM_ADDRESS,
    account_ids,
    addresses,
    agent_ids,
    chain_ids,
    feedback_ids,
    global_agent_ids,
    transaction_refs,
)

SOLANA = "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp"
PROGRAM = "satiRkxEiwZ51cv8PRu8UMzuaqeaNU9jABo6oAFMsLe"
MINT = "7xKXtg2CW87d97TXJSDpbD5jBkheTqA83TZRuJosgAsU"
HASH = "0x" + "aB" * 32


@given(chain_ids())
def test_a_chain_id_survives_its_text(chain):
    assert ChainId.parse(str(chain)) == chain


@given(account_ids())
def test_an_account_id_survives_its_text(account):
    assert AccountId.parse(str(account)) == account


@given(transaction_refs())
def test_a_transaction_reference_survives_its_text(transaction):
    assert TransactionRef.parse(str(transaction)) == transaction


@given(agent_ids())
def test_an_agent_id_survives_its_text(agent):
    assert AgentId.parse(str(agent)) == agent


@given(agent_ids(with_chain=True))
def test_an_agent_id_may_name_its_namespace(agent):
    assert AgentId.parse(f"eip155:{agent}") == agent


@given(global_agent_ids())
def test_a_global_agent_id_survives_its_text(agent):
    assert GlobalAgentId.parse(str(agent)) == agent


@given(feedback_ids())
def test_a_feedback_id_survives_its_text(feedback):
    assert FeedbackId.parse(str(feedback)) == feedback


@given(feedback_ids(with_chain=True))
def test_a_feedback_id_survives_the_text_of_indexers(feedback):
    assert FeedbackId.parse_subgraph(feedback.subgraph_id) == feedback


@given(feedback_ids())
def test_the_index_on_chain_is_one_more_than_that_of_the_text(feedback):
    assert str(feedback).rpartition(":")[2] == str(feedback.index)
    assert feedback.on_chain_index == feedback.index + 1


@given(st.text(max_size=80))
@pytest.mark.parametrize("kind", [ChainId, AccountId, TransactionRef, AgentId, GlobalAgentId, FeedbackId])
def test_any_text_is_parsed_or_refused_by_name(kind, text):
    try:
        parsed = kind.parse(text)
    except MalformedIdentifierError as error:
        assert error.problem
    else:
        assert kind.parse(str(parsed)) == parsed


@given(addresses())
def test_an_address_is_the_same_whatever_its_case(address):
    assert checksummed(address.lower()) == checksummed("0x" + address[2:].upper()) == checksummed(address) == address


def test_the_examples_of_the_specifications_are_read():
    assert AgentId.parse("84532:42") == AgentId(42, 84532) == AgentId.parse("eip155:84532:42")
    assert AgentId.parse("42") == AgentId(42) == AgentId.parse(42)
    assert AccountId.parse(f"{SOLANA}:{PROGRAM}").address == PROGRAM
    assert GlobalAgentId.parse(f"{SOLANA}:{PROGRAM}#{MINT}").agent == MINT
    registry = "eip155:8453:0x8004A169FB4a3325136EB29fA0ceB6D2e539a432"
    assert GlobalAgentId.parse(f"{registry}#247").agent_id == AgentId(247, 8453)


def test_the_two_counts_of_a_feedback_name_the_same_feedback():
    first = FeedbackId.parse(f"84532:42:{EVM_ADDRESS}:0")
    assert (first.index, first.on_chain_index) == (0, 1)
    assert first == FeedbackId.parse_subgraph(f"84532:42:{EVM_ADDRESS.lower()}:1")
    assert first == FeedbackId.from_index(AgentId(42, 84532), EVM_ADDRESS, 0)
    assert first == FeedbackId.from_chain(AgentId(42, 84532), EVM_ADDRESS, 1)
    assert first.subgraph_id == f"84532:42:{EVM_ADDRESS.lower()}:1"


def test_a_feedback_id_without_a_chain_has_no_id_at_an_indexer():
    with pytest.raises(MalformedIdentifierError, match="the agent's chain is missing"):
        _ = FeedbackId.parse(f"42:{EVM_ADDRESS}:0").subgraph_id


def test_the_last_feedback_of_a_client_has_an_id_and_the_next_has_none():
    last = FeedbackId.from_chain(AgentId(1), EVM_ADDRESS, 2**64 - 1)
    assert FeedbackId.parse(str(last)) == last
    with pytest.raises(MalformedIdentifierError, match=f"its on-chain index, {2**64}, is not between"):
        FeedbackId.from_chain(AgentId(1), EVM_ADDRESS, 2**64)


def test_the_contracts_index_zero_is_refused():
    with pytest.raises(MalformedIdentifierError, match="its on-chain index, 0, is not between 1 and"):
        FeedbackId.parse_subgraph(f"84532:42:{EVM_ADDRESS}:0")


def test_the_last_agent_of_a_registry_has_an_id_and_the_next_has_none():
    assert AgentId.parse(str(2**256 - 1)).token_id == 2**256 - 1
    with pytest.raises(MalformedIdentifierError, match=r"the agent number is not between 0 and 2\^256 - 1"):
        AgentId.parse(str(2**256))


def test_an_agent_without_a_chain_takes_the_given_one():
    assert AgentId.parse("42").on(84532) == AgentId(42, 84532) == AgentId.parse("84532:42").on(84532)


def test_an_agent_of_one_chain_is_not_taken_for_one_of_another():
    with pytest.raises(MalformedIdentifierError, match='"84532:42" is not an agent on chain 8453: its chain is 84532'):
        AgentId.parse("84532:42").on(8453)


def test_a_careless_checksum_is_taken_only_where_asked():
    text = "eip155:8453:0x8004B663C4a7e45d78F2D05C8e4A5a3D3D5e7890"
    assert AccountId.parse(text, verify_checksum=False).address.lower() == text[12:].lower()
    with pytest.raises(MalformedIdentifierError, match="checksum"):
        AccountId.parse(text)


def test_a_solana_chain_has_no_number():
    with pytest.raises(MalformedIdentifierError, match="not an EVM chain: its namespace is solana"):
        _ = ChainId.parse(SOLANA).evm_chain_id


def test_a_message_shows_no_control_characters_of_the_text():
    with pytest.raises(MalformedIdentifierError) as refusal:
        ChainId.parse("eip155\x1b[2J\u202e" + "x" * 1000)
    assert str(refusal.value).isprintable()
    assert len(str(refusal.value)) < 300


MALFORMED = [
    (ChainId, "", "expected namespace:reference"),
    (ChainId, "eip155", "expected namespace:reference"),
    (ChainId, "eip155:1:2", "expected namespace:reference"),
    (ChainId, "eip155:", "is empty"),
    (ChainId, ":1", "is empty"),
    (ChainId, "EIP155:1", "3 to 8 characters from a-z"),
    (ChainId, "cosmos:hub-3", "not cosmos"),
    (ChainId, "eip155:0", "from 1"),
    (ChainId, "eip155:01", "without leading zeros"),
    (ChainId, "eip155:+1", "in decimal digits"),
    (ChainId, "eip155:0x1", "in decimal digits"),
    (ChainId, "eip155:1\n", "in decimal digits"),
    (ChainId, "eip155:\u0664\u0662", "in decimal digits"),
    (ChainId, "eip155:" + "9" * 33, "in decimal digits"),
    (ChainId, "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvd", "first 32 characters"),
    (ChainId, "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvd0", "base 58"),
    (AccountId, "eip155:1", "expected namespace:reference:address"),
    (AccountId, "eip155:1:", "is empty"),
    (AccountId, "eip155:1:0x123", "40 hexadecimal digits"),
    (AccountId, f"eip155:1:{EVM_ADDRESS[2:]}", "0x and 40"),
    (AccountId, f"eip155:1:0X{EVM_ADDRESS[2:]}", "0x and 40"),
    (AccountId, f"eip155:1:{EVM_ADDRESS} ", "40 hexadecimal digits"),
    (AccountId, f"eip155:1:0x8004a{EVM_ADDRESS[7:]}", "checksum (EIP-55) is wrong"),
    (AccountId, f"{SOLANA}:{PROGRAM.lower()}", "base 58"),
    (AccountId, f"{SOLANA}:{PROGRAM}1", "this one has"),
    (AccountId, f"{SOLANA}:{EVM_ADDRESS}", "base 58"),
    (AccountId, f"{SOLANA}:{'z' * 10_000}", "32 bytes in base 58"),
    (TransactionRef, "eip155:1", "expected namespace:reference:transaction"),
    (TransactionRef, f"eip155:1:{HASH[:-1]}", "64 hexadecimal digits"),
    (TransactionRef, f"eip155:1:{HASH[2:]}", "0x and 64"),
    (TransactionRef, f"{SOLANA}:{MINT}", "64 bytes, but this one has 32"),
    (TransactionRef, f"{SOLANA}:{HASH}", "base 58"),
    (AgentId, "", "not a whole number"),
    (AgentId, "-1", "not a whole number"),
    (AgentId, "042", "not a whole number"),
    (AgentId, "4_2", "not a whole number"),
    (AgentId, "4.0", "not a whole number"),
    (AgentId, "\uff19", "not a whole number"),
    (AgentId, "9" * 5000, "a number above 2^256 - 1"),
    (AgentId, "84532:", "not a whole number"),
    (AgentId, "0:42", "from 1"),
    (AgentId, "1:2:3", "expected 42, 84532:42 or eip155:84532:42"),
    (AgentId, "solana:1:2", "expected 42, 84532:42 or eip155:84532:42"),
    (AgentId, "eip155:1:2:3", "expected 42, 84532:42 or eip155:84532:42"),
    (GlobalAgentId, f"eip155:1:{EVM_ADDRESS}", "registry#agent"),
    (GlobalAgentId, f"eip155:1:{EVM_ADDRESS}#", "not a whole number"),
    (GlobalAgentId, f"eip155:1:{EVM_ADDRESS}#1#2", "not a whole number"),
    (GlobalAgentId, f"eip155:1:{EVM_ADDRESS}#{MINT}", "not a whole number"),
    (GlobalAgentId, f"{SOLANA}:{PROGRAM}#42", "32 bytes"),
    (FeedbackId, "42:0", "expected agent:client:index"),
    (FeedbackId, f"42:{EVM_ADDRESS}", "expected agent:client:index"),
    (FeedbackId, f"42:{EVM_ADDRESS}:-1", "not a whole number"),
    (FeedbackId, f"42:{EVM_ADDRESS}:", "not a whole number"),
    (FeedbackId, "42:0x742d:0", "40 hexadecimal digits"),
    (FeedbackId, f":{EVM_ADDRESS}:0", "not a whole number"),
]


@pytest.mark.parametrize(("kind", "text", "problem"), MALFORMED)
def test_malformed_text_is_refused_with_the_mistake(kind, text, problem):
    with pytest.raises(MalformedIdentifierError) as refusal:
        kind.parse(text)
    assert problem in refusal.value.problem
    assert refusal.value.reason == "malformed_identifier"


WRONG = [None, True, 1.5, b"1", ["1"], object()]


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize(
    "take",
    [
        checksummed,
        ChainId.parse,
        ChainId.evm,
        AccountId.parse,
        TransactionRef.parse,
        AgentId.parse,
        GlobalAgentId.parse,
        FeedbackId.parse,
        FeedbackId.parse_subgraph,
        AgentId,
        lambda value: AgentId(1, [value]),
        lambda value: ChainId("eip155", value),
        lambda value: ChainId(value, "1"),
        lambda value: AccountId(value, EVM_ADDRESS),
        lambda value: AccountId(ChainId.evm(1), value),
        lambda value: AccountId(ChainId.parse(SOLANA), value),
        lambda value: TransactionRef(value, HASH),
        lambda value: TransactionRef(ChainId.evm(1), value),
        lambda value: GlobalAgentId(value, "1"),
        lambda value: GlobalAgentId(AccountId(ChainId.evm(1), EVM_ADDRESS), value),
        lambda value: FeedbackId(value, EVM_ADDRESS, 1),
        lambda value: FeedbackId(AgentId(1), value, 1),
        lambda value: FeedbackId(AgentId(1), EVM_ADDRESS, value),
        lambda value: FeedbackId.from_index(AgentId(1), EVM_ADDRESS, value),
        lambda value: FeedbackId.from_chain(AgentId(1), EVM_ADDRESS, value),
    ],
)
def test_a_part_of_the_wrong_type_is_refused(take, wrong):
    with pytest.raises(MalformedIdentifierError) as refusal:
        take(wrong)
    assert "expected a value of type" in refusal.value.problem


def test_a_truth_value_is_not_the_first_index():
    with pytest.raises(MalformedIdentifierError, match='"bool" is not a feedback id: expected a value of type int'):
        FeedbackId.from_index(AgentId(1), EVM_ADDRESS, True)


def test_a_number_too_long_to_be_written_is_refused():
    for take in (AgentId, ChainId.evm, lambda value: FeedbackId.from_index(AgentId(1), EVM_ADDRESS, value)):
        with pytest.raises(MalformedIdentifierError, match="too large for a chain id"):
            take(10**5000)
