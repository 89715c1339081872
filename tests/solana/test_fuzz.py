"""No bytes make a reader raise anything but its own errors, or take long."""

from __future__ import annotations

import base64
import random
import time
from collections import Counter

import pytest
from solders.keypair import Keypair
from solders.pubkey import Pubkey

from bilateral.core.errors import BilateralError
from bilateral.core.identifiers import ChainId
from bilateral.solana.addresses import MAINNET, SATI, TOKEN_2022
from bilateral.solana.fields import Account
from bilateral.solana.history import Watched, is_harmless
from bilateral.solana.payments import ExpectedPayment, arrived, message_key
from bilateral.solana.registry8004 import CORE, agent_8004_of, agent_address
from bilateral.solana.sati import Registry, check_index, has_holder, minted_agent, wallet_of
from simulation.solana import instructions as ix
from simulation.solana.world import PROGRAM_8004
from tests.solana.conftest import fuzz_count

SECONDS = 0.05
LONGEST = 10 * 1024


def bytes_from(chance, honest):
    """Make bytes: any at all, an honest example with some bytes changed, cut or doubled, or noise behind it."""
    kind = chance.randrange(8)
    if kind == 0:
        return chance.randbytes(chance.randrange(LONGEST))
    content = bytearray(honest)
    for _ in range(chance.choice((1, 1, 1, 2, 8))):
        content[chance.randrange(len(content))] = chance.choice((0, 1, 2, 255, chance.randrange(256)))
    if kind == 1:
        return bytes(content[: chance.randrange(len(content))])
    if kind == 2:
        start = chance.randrange(len(content))
        return bytes(content[:start]) + bytes(content[chance.randrange(len(content)) :])
    if kind == 3:
        return bytes(content) + chance.randbytes(chance.randrange(200))
    if kind == 4:
        return (bytes(content) * 20)[:LONGEST]
    return bytes(content)


def fuzz(read, honest, seed, count):
    """Read many byte strings, and count the outcomes."""
    chance, outcomes = random.Random(seed), Counter()  # noqa: S311  # test data
    for _ in range(count):
        content = bytes_from(chance, honest)
        start = time.process_time()
        try:
            read(content)
            outcomes["read"] += 1
        except BilateralError as error:
            outcomes[type(error).__name__] += 1
        assert time.process_time() - start < SECONDS, content.hex()
    return outcomes


@pytest.fixture
def honest(node, agent, owner):
    """The bytes of the accounts of an agent."""
    mint = Pubkey.from_string(agent)
    addresses = {"mint": mint, "registry": ix.REGISTRY, "token account": ix.associated(owner.pubkey(), mint)}
    return {name: bytes(node.vm.get_account(address).data) for name, address in addresses.items()}


def test_s10_no_bytes_of_accounts_break_the_reader(honest, agent, owner):
    registry, chain, holder = (
        Registry.of(Account(SATI, honest["registry"]), SATI),
        ChainId.parse(MAINNET),
        str(owner.pubkey()),
    )

    def read_mint(content):
        wallet_of(minted_agent(agent, Account(TOKEN_2022, content), registry), chain)

    readers = {
        "mint": read_mint,
        "registry": lambda content: Registry.of(Account(SATI, content), SATI),
        "token account": lambda content: has_holder(Account(TOKEN_2022, content), agent, holder),
    }
    for seed, (name, read) in enumerate(readers.items()):
        read(honest[name])
        outcomes = fuzz(read, honest[name], seed, fuzz_count(500))
        assert outcomes["MalformedAccountError"] > outcomes.total() // 10, (name, outcomes)
        assert len(outcomes) > 1, (name, outcomes)
    index = honest["registry"][:8] + honest["registry"][8:41]
    assert fuzz(lambda content: check_index(agent, Account(SATI, content), SATI), index, 9, fuzz_count(500))


def test_s10_no_bytes_of_the_second_registry_break_the_reader(world, owner, node):
    core, program = Keypair().pubkey(), Pubkey.from_string(PROGRAM_8004)
    world.write_8004(core, owner.pubkey(), wallet=owner.pubkey(), uri="https://agent.example/a.json")
    places = Pubkey.from_string(agent_address(str(core), PROGRAM_8004)), core
    record, held = (bytes(node.vm.get_account(place).data) for place in places)

    def judge(record, held):
        accounts = Account(str(program), record), Account(CORE, held)
        agent_8004_of(str(core), accounts, PROGRAM_8004, 1)

    judge(record, held)
    for seed, read in enumerate((lambda content: judge(content, held), lambda content: judge(record, content))):
        outcomes = fuzz(read, (record, held)[seed], seed, fuzz_count(500))
        assert outcomes.total() - outcomes["read"] > outcomes.total() // 10, outcomes
        assert len(outcomes) > 2, outcomes


def test_s29_no_bytes_of_transactions_break_the_reader(bought, node):
    entry, payload = node.history[bought.settlement["transaction"]], bought.payment["payload"]
    expected = ExpectedPayment.of(bought.accepted, payload)

    def read_payload(content):
        other = {"transaction": base64.b64encode(content).decode()}
        message_key(MAINNET, other)
        ExpectedPayment.of(bought.accepted, other)

    def read_answer(content):
        answer = entry | {"transaction": [base64.b64encode(content).decode(), "base64"]}
        is_harmless(answer, Watched(tuple(entry["keys"]), {TOKEN_2022: (b"\x01",)}))
        arrived(expected, answer, bought.settlement["transaction"])

    signed, landed = base64.b64decode(payload["transaction"]), base64.b64decode(entry["transaction"][0])
    for seed, (read, content) in enumerate([(read_payload, signed), (read_answer, landed)]):
        read(content)
        outcomes = fuzz(read, content, seed, fuzz_count(500))
        assert outcomes.total() - outcomes["read"] > outcomes.total() // 10, outcomes
