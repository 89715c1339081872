"""Agents of 8004-solana, the second registry, behind the same port as those of SATI."""

from __future__ import annotations

import base64
from hashlib import sha256

import pytest
from solders.hash import Hash
from solders.instruction import AccountMeta, Instruction
from solders.keypair import Keypair
from solders.message import MessageV0
from solders.pubkey import Pubkey
from solders.transaction import VersionedTransaction

from bilateral.core.errors import InvalidArgumentError
from bilateral.core.errors.solana import AgentRefusedError, MalformedAccountError, SolanaError
from bilateral.documents import Loader
from bilateral.solana.addresses import DEVNET, MAINNET, TESTNET
from bilateral.solana.registry8004 import CORE, agent_address
from bilateral.x402 import CheckName, Outcome, PaymentRefusedError, Verifier
from bilateral.x402.proof.solana import SatiReader, SolanaReader, declare_solana_reputation, solana_registration
from simulation.solana.world import PROGRAM_8004
from tests.sdk.servers import GatewayServer
from tests.solana.conftest import file_of
from tests.solana.paying import buy

NAME = "8004-solana"
NOT_PROVABLE = (Outcome.UNCHECKED, "not_provable_for_the_past")


@pytest.fixture
def core():
    """The agent's asset of Metaplex Core."""
    return Keypair().pubkey()


@pytest.fixture(scope="module")
def gateway():
    """Serves registration files: the registry has room for a URI of 250 bytes, and none for a file."""
    with GatewayServer() as running:
        yield running


@pytest.fixture
def listed(world, core, owner, gateway):
    """Registers the agent of the owner, or writes it anew."""

    def write(**options):
        registrations = [{"agentId": str(core), "agentRegistry": f"{MAINNET}:{PROGRAM_8004}"}]
        content = Loader().load(file_of(core, registrations=registrations)).content
        world.write_8004(core, owner.pubkey(), uri=f"ipfs://{gateway.blocks.add(content)}", **options)
        return str(core)

    return write


@pytest.fixture
def verifier(reader, gateway):
    with Verifier({}, readers=[reader], receipt_seconds=0, loader=Loader(gateways=(gateway.url,))) as made:
        yield made


@pytest.fixture
def reader(rpc):
    """A reader that trusts both registries."""
    return SolanaReader(rpc, MAINNET)


def read(run, reader, core):
    return run(reader.agent(solana_registration(str(core), MAINNET, NAME).agent))


def test_proven_wallet_uri_and_owner_are_read_in_one_request(run, reader, listed, owner, stranger, core, node):
    listed(wallet=stranger.pubkey())
    node.requests.clear()
    agent = read(run, reader, core)
    assert (agent.holder, agent.wallet, agent.wallet_source) == (str(owner.pubkey()), str(stranger.pubkey()), "proven")
    assert agent.uri.startswith("ipfs://")
    assert node.requests == ["getGenesisHash", "getMultipleAccounts"]


def test_owner_is_paid_if_the_agent_has_no_wallet(run, reader, listed, owner, core):
    listed()
    agent = read(run, reader, core)
    assert (agent.wallet, agent.wallet_source) == (str(owner.pubkey()), "owner")


def test_agent_that_was_transferred_past_the_registry_is_refused(run, reader, verifier, listed, owner, stranger, core):
    """Metaplex Core alone moved it, so the proven wallet is still that of the seller."""
    declared = declare_solana_reputation(listed(wallet=owner.pubkey(), live=stranger.pubkey()), MAINNET, registry=NAME)
    with pytest.raises(AgentRefusedError, match="call `sync_owner` first") as refused:
        read(run, reader, core)
    assert refused.value.code == "authority_mismatch"
    with pytest.raises(PaymentRefusedError) as refused:
        verifier.check_before_payment(declared["8004-reputation"], MAINNET, str(owner.pubkey()))
    assert refused.value.code == "authority_mismatch"


def test_missing_burnt_and_foreign_assets_are_not_agents(run, reader, listed, world, core, stranger):
    def problem():
        with pytest.raises(AgentRefusedError) as refused:
            read(run, reader, core)
        assert refused.value.code == "agent_not_registered"
        return str(refused.value).partition(": ")[2]

    assert problem() == "the program has no account for this asset"
    listed(collection=stranger.pubkey())
    assert problem().startswith("the asset does not belong to collection")
    program = Pubkey.from_string(CORE)
    for content, owner, expected in (
        (b"\0", program, "it was burnt"),
        (b"\5" * 70, program, "its account is of a different type, 5"),
        (b"\1" * 70, stranger.pubkey(), "the account is not a Metaplex Core asset"),
    ):
        world.write(core, content, owner)
        assert problem() == expected
    world.write_8004(other := Keypair().pubkey(), stranger.pubkey())
    described = bytes(world.node.vm.get_account(Pubkey.from_string(agent_address(str(other), PROGRAM_8004))).data)
    world.write(agent_address(str(core), PROGRAM_8004), described, Pubkey.from_string(PROGRAM_8004))
    assert problem() == f"the account describes a different asset, {other}"


@pytest.mark.parametrize(
    "change",
    [
        lambda content: content[:-1],
        lambda content: b"\0" * 8 + content[8:],
        lambda content: content[:138] + b"\2" + content[139:],
        lambda content: content[:262] + b"\xff" * 4 + content[266:],
    ],
    ids=["length", "type", "wallet neither there nor absent", "URI past the end"],
)
def test_account_of_another_layout_cannot_be_checked(run, reader, listed, world, core, change):
    listed()
    address = agent_address(str(core), PROGRAM_8004)
    content = bytes(world.node.vm.get_account(Pubkey.from_string(address)).data)
    world.write(address, change(content), Pubkey.from_string(PROGRAM_8004))
    with pytest.raises(MalformedAccountError) as refused:
        read(run, reader, core)
    assert refused.value.code == "cannot_check"


def test_account_of_another_program_is_not_read(run, reader, listed, world, core, stranger):
    listed()
    address = agent_address(str(core), PROGRAM_8004)
    content = bytes(world.node.vm.get_account(Pubkey.from_string(address)).data)
    world.write(address, content, stranger.pubkey())
    with pytest.raises(MalformedAccountError, match="the account belongs to the program"):
        read(run, reader, core)


def test_registries_are_an_allow_list(run, rpc, listed, owner):
    declared = declare_solana_reputation(listed(), MAINNET, registry=NAME)["8004-reputation"]
    with Verifier({}, readers=[SatiReader(rpc, MAINNET)]) as verifier, pytest.raises(PaymentRefusedError) as refused:
        verifier.check_before_payment(declared, MAINNET, str(owner.pubkey()))
    assert refused.value.code == "unknown_registry"
    with pytest.raises(SolanaError) as refused:
        run(SatiReader(rpc, MAINNET).agent(solana_registration(str(owner.pubkey()), MAINNET, NAME).agent))
    assert refused.value.code == "unknown_registry"


def test_registry_has_another_program_on_devnet_and_none_on_testnet(rpc):
    devnet, mainnet = (solana_registration(PROGRAM_8004, chain, NAME).agent.registry for chain in (DEVNET, MAINNET))
    assert devnet.address != mainnet.address == PROGRAM_8004
    with pytest.raises(InvalidArgumentError, match=r"^8004-solana on solana:4uhcVJyU9pJkvQyS88uRDiswHXSCkY3z: the"):
        SolanaReader(rpc, TESTNET, registries=[NAME])
    with pytest.raises(InvalidArgumentError, match=r"^no registry on"):
        SolanaReader(rpc, MAINNET, registries=[])


@pytest.fixture
def own(listed, sell, owner, buyer, world, asset, rpc, core):
    """A paid answer of the agent."""
    world.give(asset, owner.pubkey())
    declared = declare_solana_reputation(listed(wallet=owner.pubkey()), MAINNET, registry=NAME)
    with sell(str(core), str(owner.pubkey()), extensions=declared) as (url, _):
        return buy(url, buyer, rpc)


def touch(node, program, instruction, *addresses):
    """Put a successful transaction into the chain that calls a program with the accounts of an agent."""
    payer = Keypair()
    call = Instruction(
        Pubkey.from_string(program), instruction, [AccountMeta(address, False, True) for address in addresses]
    )
    message = MessageV0.try_compile(payer.pubkey(), [call], [], Hash.default())
    transaction = VersionedTransaction(message, [payer])
    node.history[str(transaction.signatures[0])] = {
        "slot": node.slot,
        "blockTime": node.time_of(node.slot),
        "transaction": [base64.b64encode(bytes(transaction)).decode(), "base64"],
        "meta": {"err": None, "innerInstructions": [], "preTokenBalances": [], "postTokenBalances": []},
        "keys": [str(key) for key in message.account_keys],
    }
    node.next_slot()


def test_answer_is_verified_and_later_feedback_does_not_matter(own, verifier, core, node):
    touch(node, PROGRAM_8004, sha256(b"global:give_feedback").digest()[:8], core)
    verification = verifier.verify(own)
    assert verification.problems == ()
    assert verification.is_verified
    assert "the wallet is from: proven" in verification.remarks


@pytest.mark.parametrize(
    ("program", "name"), [(PROGRAM_8004, "set_agent_wallet"), (PROGRAM_8004, "sync_owner"), (CORE, "transfer")]
)
def test_wallet_that_may_have_changed_since_is_not_provable(own, verifier, core, node, program, name):
    address = Pubkey.from_string(agent_address(str(core), PROGRAM_8004))
    touch(node, program, sha256(f"global:{name}".encode()).digest()[:8], address if name == "sync_owner" else core)
    check = verifier.verify(own).check(CheckName.PAY_TO)
    assert (check.outcome, check.code) == NOT_PROVABLE
