"""An agent of SATI is proven by four accounts of one snapshot; anything else is refused by name."""

from __future__ import annotations

import pytest
from solders.account import Account
from solders.keypair import Keypair
from solders.pubkey import Pubkey

from bilateral.core.errors import InvalidArgumentError, NodeError, NodeUnreachableError
from bilateral.core.errors.solana import (
    AgentRefusedError,
    InconsistentNodeError,
    MalformedAccountError,
    SolanaError,
    WrongNodeError,
)
from bilateral.core.identifiers import GlobalAgentId
from bilateral.solana.addresses import DEVNET, MAINNET, SATI, TOKEN_2022, index_address, registry_address
from bilateral.solana.token2022 import Mint, TokenMetadata
from bilateral.x402 import PaymentRefusedError, Verifier
from bilateral.x402.proof.solana import SatiReader, declare_solana_reputation
from simulation.solana import instructions as ix
from simulation.solana.node import NodeProblem
from tests.x402.examples import changed

REGISTRY = f"{MAINNET}:{SATI}"


def info_of(mint, **changes):
    info = declare_solana_reputation(str(mint), MAINNET)["8004-reputation"]["info"]
    for name, value in changes.items():
        info = changed(info, ["registrations", 0, name], value)
    return info


def refusal(verifier, info, pay_to="11111111111111111111111111111111"):
    with pytest.raises(PaymentRefusedError) as refused:
        verifier.check_before_payment(info, MAINNET, pay_to)
    return refused.value.code, str(refused.value)


def refused(run, reader, mint):
    with pytest.raises(AgentRefusedError) as caught:
        run(reader.agent(str(mint)))
    return caught.value.code, str(caught.value)


@pytest.fixture
def bytes_of(node):
    """Returns the bytes of an account."""
    return lambda address: bytearray(node.vm.get_account(Pubkey.from_string(str(address))).data)


@pytest.fixture
def write_mint(node):
    """Writes other bytes into an agent's mint, or gives it to another program."""

    def write(mint, content, owner=TOKEN_2022):
        account = Account(10**8, bytes(content), Pubkey.from_string(owner))
        node.vm.set_account(Pubkey.from_string(str(mint)), account)

    return write


def test_agent_is_read_whole(run, reader, agent, owner, world):
    completed = run(reader.agent(agent))
    assert (completed.mint, completed.holder, completed.number) == (agent, str(owner.pubkey()), world.total)
    assert (completed.wallet, completed.wallet_source, completed.remarks) == (str(owner.pubkey()), "owner", ())
    assert completed.uri.startswith("data:")
    assert completed.metadata.name == "Weather"
    assert not completed.is_soulbound
    assert completed.token_account == str(ix.associated(owner.pubkey(), Pubkey.from_string(agent)))


def test_soulbound_agent_is_read_too(run, reader, world, owner):
    assert run(reader.agent(str(world.register(owner, soulbound=True)))).is_soulbound


def test_s1_node_of_another_chain_is_refused_with_both_named(run, rpc, verifier, agent, node):
    with pytest.raises(WrongNodeError, match=f"{node.genesis}, expected {DEVNET}"):
        run(SatiReader(rpc, DEVNET).agent(agent))
    node.instead["getGenesisHash"] = lambda _: 7
    code, problem = refusal(verifier, info_of(agent))
    assert code == "cannot_check"
    assert "a different chain" in problem


def test_s1_chain_of_the_node_is_asked_once(run, reader, agent, node):
    node.requests.clear()
    for _ in range(3):
        run(reader.agent(agent))
    assert node.requests.count("getGenesisHash") == 1


def test_s2_other_registries_are_unknown_and_none_is_not_registered(verifier, agent, stranger):
    other = f"{MAINNET}:{stranger.pubkey()}"
    assert refusal(verifier, info_of(agent, agentRegistry=other))[0] == "unknown_registry"
    assert refusal(verifier, info_of(agent, reputationRegistry=other))[0] == "unknown_registry"
    elsewhere = info_of(agent, agentRegistry=f"{DEVNET}:{SATI}", reputationRegistry=f"{DEVNET}:{SATI}")
    assert refusal(verifier, elsewhere)[0] == "agent_not_registered"


def test_s3_agent_is_named_by_its_mint_alone(verifier, agent):
    for name in ("1", f"{MAINNET}:{agent}", agent[:30], agent * 2):  # an address and a digit more can be an address
        assert refusal(verifier, info_of(agent, agentId=name))[0] == "invalid_declaration"


@pytest.mark.parametrize(
    ("place", "byte", "reason"),
    [
        (45, 0, "not initialised"),
        (36, 0, "burnt"),
        (36, 2, "not exactly one token"),
        (44, 1, "1 decimals"),
        (0, 1, "has an authority"),
        (46, 1, "has an authority"),
        (165, 2, "layout of a mint"),
    ],
)
def test_s4_mint_that_is_not_one_token_for_ever_is_refused(
    run, reader, agent, bytes_of, write_mint, place, byte, reason
):
    content = bytes_of(agent)
    content[place] = byte
    write_mint(agent, content)
    code, problem = refused(run, reader, agent)
    assert code == "agent_not_registered"
    assert reason in problem


def test_s4_account_that_is_missing_or_of_another_program_is_refused(run, reader, agent, bytes_of, write_mint):
    assert "there is no account" in refused(run, reader, Keypair().pubkey())[1]
    write_mint(agent, bytes_of(agent), owner=SATI)
    assert "not to Token-2022" in refused(run, reader, agent)[1]


@pytest.mark.parametrize("fault", ["missing", "owner", "discriminator", "length"])
def test_s5_registry_with_another_layout_cannot_be_checked(run, reader, agent, node, world, bytes_of, fault):
    honest = bytes_of(ix.REGISTRY)
    content, program = {
        "missing": (b"", ix.SYSTEM),
        "owner": (honest, ix.TOKEN_2022_KEY),
        "discriminator": (b"\0" + honest[1:], ix.SATI_KEY),
        "length": (honest + b"\0", ix.SATI_KEY),
    }[fault]
    try:
        world.write(ix.REGISTRY, content, program)
        with pytest.raises(MalformedAccountError, match="RegistryConfig") as caught:
            run(reader.agent(agent))
        assert caught.value.code == "cannot_check"
    finally:
        world.write(ix.REGISTRY, honest)


def test_s6_look_alike_group_is_refused(run, reader, world, owner):
    """Its name, its URI and its number are those of SATI's agents. Only the group differs."""
    own = world.make_group(world.payer.pubkey())
    mint = world.register(owner, group=own, group_authority=world.payer.pubkey())
    code, problem = refused(run, reader, mint)
    assert code == "agent_not_registered"
    assert f"the group {own}, not in SATI's group {world.group}" in problem


@pytest.mark.parametrize(
    ("kind", "reason"), [(23, "no group membership"), (22, "no group membership"), (19, "no metadata")]
)
def test_s6_s8_mint_without_an_extension_of_its_own_is_refused(run, reader, agent, bytes_of, write_mint, kind, reason):
    content = bytes_of(agent)
    content[extension_at(content, kind)] = 99  # an unknown type, which is skipped
    write_mint(agent, content)
    assert reason in refused(run, reader, agent)[1]


@pytest.mark.parametrize(("kind", "reason"), [(22, "no group membership"), (18, "no metadata")])
def test_s6_s8_pointer_elsewhere_is_refused(run, reader, agent, bytes_of, write_mint, kind, reason):
    content = bytes_of(agent)
    content[extension_at(content, kind) + 4 + 32] ^= 1
    write_mint(agent, content)
    assert reason in refused(run, reader, agent)[1]


@pytest.mark.parametrize(("kind", "place"), [(23, 0), (19, 32)])
def test_s6_s8_extension_of_another_mint_is_refused(run, reader, agent, bytes_of, write_mint, kind, place):
    content = bytes_of(agent)
    content[extension_at(content, kind) + 4 + place] ^= 1
    write_mint(agent, content)
    assert refused(run, reader, agent)[0] == "agent_not_registered"


def test_s7_index_that_is_missing_or_names_another_agent_is_refused(run, reader, agent, world, stranger):
    number = run(reader.agent(agent)).number
    world.write_index(number, stranger.pubkey())
    assert f"lists {stranger.pubkey()}" in refused(run, reader, agent)[1]
    world.write(index_address(number), b"")
    assert "does not list the agent's number" in refused(run, reader, agent)[1]


def extension_at(content, kind):
    """Return the place of an extension's type."""
    place = 166
    while int.from_bytes(content[place : place + 2], "little") != kind:
        place += 4 + int.from_bytes(content[place + 2 : place + 4], "little")
    return place


FAULTS = {
    "a length past the end": lambda content, at: content.__setitem__(slice(at + 2, at + 4), b"\xff\xff"),
    "a type twice": lambda content, at: content.__setitem__(slice(at, at + 2), b"\x12\0"),
    "a text that is not UTF-8": lambda content, at: content.__setitem__(at + 4 + 64 + 4, 0xFF),
    "a text past the end": lambda content, at: content.__setitem__(at + 4 + 64 + 3, 0xFF),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_s9_broken_extensions_cannot_be_checked(run, reader, agent, bytes_of, write_mint, fault):
    content = bytes_of(agent)
    FAULTS[fault](content, extension_at(content, 19))
    write_mint(agent, content)
    with pytest.raises(MalformedAccountError) as caught:
        run(reader.agent(agent))
    assert caught.value.code == "cannot_check"


def test_s9_key_that_occurs_twice_cannot_be_checked():
    entries = (ix.text("agentWallet") + ix.text("a")) * 2
    head = bytes(32) + bytes(32) + ix.text("") * 3
    with pytest.raises(MalformedAccountError, match="'agentWallet' occurs twice"):
        TokenMetadata.of(head + (2).to_bytes(4, "little") + entries)


def test_s9_mint_without_extensions_and_unknown_extensions_are_read():
    base = bytes(36) + (1).to_bytes(8, "little") + b"\0\x01" + bytes(36)
    assert Mint.of(base).extensions == {}
    extended = base + bytes(83) + b"\x01" + b"\x63\0\x02\0ab" + bytes(10)
    assert Mint.of(extended).extensions == {99: b"ab"}


@pytest.mark.parametrize("plain", [True, False])
def test_s11_agent_that_its_former_owner_controls_is_refused(
    run, reader, verifier, agent, owner, stranger, world, plain
):
    world.transfer_agent(Pubkey.from_string(agent), owner, stranger, plain=plain)
    world.set_field(owner, Pubkey.from_string(agent), "agentWallet", f"{MAINNET}:{owner.pubkey()}")
    code, problem = refused(run, reader, agent)
    assert code == "authority_mismatch"
    assert f"its former owner {owner.pubkey()} still controls its wallet and URI" in problem
    assert refusal(verifier, info_of(agent), str(owner.pubkey()))[0] == "authority_mismatch"


def test_s11_agent_is_good_again_once_its_buyer_has_the_authority(run, reader, agent, owner, stranger, world):
    mint = Pubkey.from_string(agent)
    world.transfer_agent(mint, owner, stranger)
    world.run([ix.update_authority(mint, owner.pubkey(), stranger.pubkey())], owner)
    assert run(reader.agent(agent)).wallet == str(stranger.pubkey())


def test_s11_agent_without_an_update_authority_is_refused(run, reader, agent, owner, world):
    world.run([ix.update_authority(Pubkey.from_string(agent), owner.pubkey(), None)], owner)
    assert refused(run, reader, agent)[0] == "authority_mismatch"


@pytest.fixture
def moved(world, agent, owner):
    """An agent that its owner moved to another token account of its own, and that account."""
    mint, other = Pubkey.from_string(agent), Keypair()
    lamports = 10**7
    world.run(
        [
            ix.create_mint(world.payer.pubkey(), other.pubkey(), 165, lamports),
            ix.token_2022(b"\x12" + bytes(owner.pubkey()), writable=[other.pubkey()], readonly=[mint]),
            ix.transfer_checked(ix.associated(owner.pubkey(), mint), mint, other.pubkey(), owner.pubkey(), 1),
        ],
        other,
        owner,
    )
    return agent, str(other.pubkey())


def test_s11_any_token_account_of_the_authority_may_hold_the_agent(run, reader, moved):
    assert run(reader.agent(moved[0])).token_account == moved[1]


def test_s11_node_that_does_not_name_the_holder_cannot_check(run, reader, moved, node):
    def excluded(_):
        raise NodeProblem(-32010, "excluded from account secondary indexes; this RPC method unavailable")

    node.instead["getTokenLargestAccounts"] = excluded
    with pytest.raises(SolanaError, match="excluded from account secondary indexes") as caught:
        run(reader.agent(moved[0]))
    assert caught.value.code == "cannot_check"


def test_s12_agent_that_changes_while_it_is_read_is_read_again(run, reader, agent, owner, world, node):
    changes = []

    def change(answer):
        if not changes:
            changes.append(world.set_field(owner, Pubkey.from_string(agent), "agentWallet", str(owner.pubkey())))
        return answer

    node.instead["getMultipleAccounts"] = change
    assert run(reader.agent(agent)).wallet_source == "metadata"
    assert node.requests[-4:] == ["getMultipleAccounts"] * 4


def test_s12_agent_that_keeps_changing_cannot_be_checked(run, reader, agent, owner, world, node):
    numbers = iter(range(100))

    def change(answer):
        world.set_field(owner, Pubkey.from_string(agent), "uri", f"https://agent.example/{next(numbers)}")
        return answer

    node.instead["getMultipleAccounts"] = change
    with pytest.raises(InconsistentNodeError, match="changed while it was being read"):
        run(reader.agent(agent))


@pytest.mark.parametrize("honest", [True, False])
def test_s12_pool_that_goes_back_to_an_older_slot_cannot_be_checked(run, reader, agent, node, honest):
    """An honest node refuses a slot that it has not reached; another one answers from an older slot."""
    slots = iter([50, 10, 50, 10])

    def answer(result):
        slot = next(slots)
        if slot == 10 and honest:
            raise NodeProblem(-32016, "Minimum context slot has not been reached")
        return result | {"context": {"slot": slot}}

    node.instead["getMultipleAccounts"] = answer
    with pytest.raises(InconsistentNodeError):
        run(reader.agent(agent))


def test_s13_commitment_is_confirmed_or_finalized(run, rpc, agent, node):
    asked = []
    node.instead["getMultipleAccounts"] = lambda answer: asked.append(1) or answer
    for commitment in ("confirmed", "finalized"):
        assert run(SatiReader(rpc, MAINNET, commitment=commitment).agent(agent)).mint == agent
    with pytest.raises(InvalidArgumentError, match="'processed' is not one of confirmed, finalized"):
        SatiReader(rpc, MAINNET, commitment="processed")
    with pytest.raises(InvalidArgumentError, match="is not a Solana chain"):
        SatiReader(rpc, "eip155:8453")


def test_s14_burnt_agent_is_refused(run, reader, agent, owner, world):
    mint = Pubkey.from_string(agent)
    world.run([ix.burn(ix.associated(owner.pubkey(), mint), mint, owner.pubkey())], owner)
    assert "burnt" in refused(run, reader, agent)[1]


@pytest.mark.parametrize(
    ("place", "byte", "reason"), [(108, 2, "frozen"), (64, 0, "transferred"), (108, 0, "transferred")]
)
def test_s14_frozen_or_empty_account_of_the_holder_is_refused(
    run, reader, agent, owner, bytes_of, write_mint, place, byte, reason
):
    account = ix.associated(owner.pubkey(), Pubkey.from_string(agent))
    content = bytes_of(account)
    content[place] = byte
    write_mint(account, content)
    code, problem = refused(run, reader, agent)
    assert code == "authority_mismatch"
    assert reason in problem


def test_s15_agent_takes_two_rounds_of_requests_for_wallet_and_uri(run, reader, agent, node):
    node.requests.clear()
    check, named = reader.for_one_check(), GlobalAgentId.parse(f"{REGISTRY}#{agent}")
    run(check.wallet(named))
    run(check.uri(named))
    assert node.requests == ["getGenesisHash", "getMultipleAccounts", "getMultipleAccounts"]


def test_dead_node_is_an_error_of_its_own(run, reader, verifier, agent, node):
    node.instead["status"] = 404
    with pytest.raises(NodeUnreachableError):
        run(reader.agent(agent))
    assert refusal(verifier, info_of(agent))[0] == "cannot_check"


def test_error_of_the_node_is_shown(run, reader, agent, node):
    def fail(_):
        raise NodeProblem(-32602, "Invalid param")

    node.instead["getMultipleAccounts"] = fail
    with pytest.raises(NodeError, match="Invalid param"):
        run(reader.agent(agent))


def test_node_that_is_behind_is_asked_again(run, reader, agent, node):
    failures = iter([True, True, False, False])

    def fail(answer):
        if next(failures):
            raise NodeProblem(-32005, "Node is behind by 42 slots")
        return answer

    node.instead["getMultipleAccounts"] = fail
    assert run(reader.agent(agent)).mint == agent


def test_registry_is_where_the_program_derives_it(node):
    assert node.vm.get_account(Pubkey.from_string(registry_address())) is not None


def test_two_readers_of_one_chain_are_refused(reader, rpc):
    with pytest.raises(InvalidArgumentError, match="two deployments are on solana"):
        Verifier({}, readers=[reader, SatiReader(rpc, MAINNET)])
