"""An owner writes its agent: simulated first, sent once, found by its signature; anybody else is refused."""

from __future__ import annotations

import pytest
from solders.account import Account
from solders.keypair import Keypair
from solders.pubkey import Pubkey

from bilateral.core.errors.solana import AgentRefusedError, SolanaWriteError
from bilateral.solana.addresses import DEVNET, MAINNET
from bilateral.solana.identity import SatiIdentity
from bilateral.x402 import CheckName, Ed25519Key, Outcome
from simulation.solana import instructions as ix
from simulation.solana.node import NodeProblem
from tests.solana.conftest import KEY, file_of
from tests.solana.paying import buy
from tests.x402.world import signer_entry

NEW_KEY = Ed25519Key(bytes(range(7, 39)))


@pytest.fixture
def writer(rpc):
    """Opens the writer of a key."""
    opened = []

    def make(keypair, **options):
        opened.append(SatiIdentity(rpc, MAINNET, bytes(keypair), **options))
        return opened[-1]

    yield make
    for entry in opened:
        entry.close()


@pytest.fixture
def identity(writer, owner):
    return writer(owner)


def code_of(function, *arguments):
    with pytest.raises(SolanaWriteError) as refused:
        function(*arguments)
    return refused.value.code


def test_s35_owner_sets_uri_metadata_and_wallet_and_removes_them(identity, agent, stranger, owner, node):
    signature = identity.set_uri(agent, "https://agent.example/b.json")
    assert node.history[signature]["meta"]["err"] is None
    identity.set_metadata(agent, "region", "no")
    identity.set_wallet(agent, str(stranger.pubkey()))
    read = identity.agent(agent)
    assert (read.uri, read.wallet) == ("https://agent.example/b.json", str(stranger.pubkey()))
    assert read.metadata.entries == {"region": "no", "agentWallet": f"{MAINNET}:{stranger.pubkey()}"}
    assert read.remarks == ()
    identity.remove(agent, "region")
    identity.remove(agent, "agentWallet")
    read = identity.agent(agent)
    assert (dict(read.metadata.entries), read.wallet) == ({}, str(owner.pubkey()))


def test_s35_rent_of_further_bytes_is_paid(identity, agent, node):
    mint = Pubkey.from_string(agent)
    account = node.vm.get_account(mint)
    exact = node.vm.minimum_balance_for_rent_exemption(len(account.data))
    node.vm.set_account(mint, Account(exact, account.data, account.owner))
    identity.set_metadata(agent, "region", "n" * 300)
    identity.set_metadata(agent, "region", "n" * 400)
    account = node.vm.get_account(mint)
    assert account.lamports == node.vm.minimum_balance_for_rent_exemption(len(account.data))


def test_s35_transfer_takes_the_authority_along_and_clears_the_wallet(
    identity, writer, agent, owner, stranger, world, run, reader
):
    identity.set_wallet(agent, str(owner.pubkey()))
    identity.transfer(agent, str(stranger.pubkey()))
    completed = run(reader.agent(agent))
    assert (completed.holder, completed.wallet, completed.wallet_source) == (str(stranger.pubkey()),) * 2 + ("owner",)
    assert completed.pointer_authority == str(stranger.pubkey())
    assert code_of(identity.set_wallet, agent, str(owner.pubkey())) == "not_the_owner"
    mint = Pubkey.from_string(agent)
    away = ix.token_2022(bytes([39, 1]) + bytes(owner.pubkey()), writable=[mint], signers=[owner.pubkey()])
    for attack in (ix.update_field(mint, owner.pubkey(), "agentWallet", "x"), away):
        with pytest.raises(AssertionError, match="InstructionError"):
            world.run([attack], owner)
    world.fund(stranger.pubkey())
    writer(stranger).set_uri(agent, "https://agent.example/c.json")


def test_s35_transaction_that_would_fail_is_not_sent(writer, register, node):
    poor = Keypair()
    mint = register(poor)
    before = len(node.history)
    with pytest.raises(SolanaWriteError, match="was not sent") as refused:
        writer(poor).set_uri(mint, "https://agent.example/b.json")
    assert refused.value.code == "simulation_failed"
    assert len(node.history) == before


def test_s35_transaction_is_sent_once_and_found_although_the_answer_was_lost(identity, agent, node):
    def lose(_):
        raise NodeProblem(-32603, "internal error")

    node.instead["sendTransaction"] = lose
    node.requests.clear()
    identity.set_uri(agent, "https://agent.example/b.json")
    assert node.requests.count("sendTransaction") == 1


def test_s35_expired_blockhash_is_told(identity, writer, owner, agent, node):
    node.instead["getSignatureStatuses"] = lambda answer: answer | {"value": [None]}
    node.instead["isBlockhashValid"] = lambda answer: answer | {"value": False}
    assert code_of(identity.set_uri, agent, "https://agent.example/b.json") == "blockhash_expired"
    node.instead["isBlockhashValid"] = lambda answer: answer | {"value": True}
    patient = writer(owner, seconds=0.01)
    assert code_of(patient.set_uri, agent, "https://agent.example/c.json") == "transaction_pending"


def test_s35_transaction_that_failed_is_told(identity, agent, node):
    failed = {"err": {"InstructionError": [0, {"Custom": 1}]}, "confirmationStatus": "confirmed"}
    node.instead["getSignatureStatuses"] = lambda answer: answer | {"value": [failed]}
    assert code_of(identity.set_uri, agent, "https://agent.example/b.json") == "transaction_failed"


def test_s36_agent_of_somebody_else_is_not_written(writer, agent, stranger, world):
    identity = writer(stranger)
    assert code_of(identity.set_uri, agent, "x") == "not_the_owner"
    assert code_of(identity.remove, agent, "x") == "not_the_owner"
    assert code_of(identity.transfer, agent, str(world.payer.pubkey())) == "not_the_owner"


def test_s36_authority_that_no_longer_holds_the_agent_writes_nothing(identity, agent, owner, stranger, world):
    world.transfer_agent(Pubkey.from_string(agent), owner, stranger)
    with pytest.raises(AgentRefusedError, match="former owner"):
        identity.set_uri(agent, "https://agent.example/b.json")


def test_s36_soulbound_agent_is_not_transferred(identity, owner, world, stranger):
    mint = str(world.register(owner, soulbound=True))
    assert code_of(identity.transfer, mint, str(stranger.pubkey())) == "soulbound"


def test_s36_transaction_that_is_too_large_is_refused_with_its_size(identity, agent):
    with pytest.raises(SolanaWriteError, match="but at most 1232 are allowed"):
        identity.set_uri(agent, "https://agent.example/" + "a" * 1200)


@pytest.mark.parametrize("wallet", ["", "?", f"{DEVNET}:{'1' * 32}", "eip155:8453:0x" + "12" * 20])
def test_s36_wallet_of_another_chain_is_refused(identity, agent, wallet):
    assert code_of(identity.set_wallet, agent, wallet) == "malformed_wallet"


def test_s36_reserved_and_missing_keys_and_malformed_owners_are_refused(identity, agent, owner):
    for key in ("uri", "agentWallet", "name", ""):
        assert code_of(identity.set_metadata, agent, key, "x") == "reserved_key"
    assert code_of(identity.remove, agent, "region") == "missing_key"
    assert code_of(identity.transfer, agent, "0OIl") == "malformed_owner"
    assert code_of(identity.transfer, agent, str(owner.pubkey())) == "same_owner"


def test_s36_malformed_key_is_refused(rpc):
    for secret in (b"", bytes(31), bytes(64)):
        assert code_of(SatiIdentity, rpc, MAINNET, secret) == "invalid_key"


def test_s37_signing_key_is_rotated(identity, own, agent, owner, sell, enrich, rpc, verifier):
    """The file lists both keys for a while, then the new one alone. The old answer then fails."""
    identity.set_uri(agent, file_of(agent, signer_entry(KEY), signer_entry(NEW_KEY)))
    with sell(agent, str(owner.pubkey()), key=NEW_KEY) as (url, _):
        new = buy(url, enrich(), rpc)
    for paid in (own, new):
        assert verifier.verify(paid).outcome(CheckName.SIGNATURE) is Outcome.PASSED
    identity.set_uri(agent, file_of(agent, signer_entry(NEW_KEY)))
    assert verifier.verify(new).outcome(CheckName.SIGNATURE) is Outcome.PASSED
    assert verifier.verify(own).outcome(CheckName.SIGNATURE) is Outcome.FAILED
