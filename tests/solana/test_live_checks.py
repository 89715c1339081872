"""`check server … --live`: should I pay this server on Solana? Nodes answer, without an index."""

from __future__ import annotations

import json

import pytest
from solders.pubkey import Pubkey

from bilateral.checks import Verdict, check_solana_server
from bilateral.core.errors import MalformedIdentifierError
from bilateral.core.errors.solana import AgentRefusedError, WrongNodeError
from bilateral.core.identifiers import AccountId, GlobalAgentId
from bilateral.documents import DataUriStore, RegistrationFile
from bilateral.solana.addresses import DEVNET, MAINNET, SATI
from tests.commands import run_here
from tests.solana.conftest import file_of

EVM = GlobalAgentId.parse("eip155:8453:0x8004A169FB4a3325136EB29fA0ceB6D2e539a432#247")


@pytest.fixture
def check(rpc, agent):
    """Checks the agent, and returns the verdict and the severity of each reason by its code."""

    def run(agent_id=f"{MAINNET}:{agent}", **options):
        answer = check_solana_server(agent_id, rpc, **options)
        return answer.verdict, {str(reason.code): str(reason.severity) for reason in answer.reasons}, answer

    return run


@pytest.fixture
def republish(world, owner, agent):
    return lambda uri: world.set_field(owner, Pubkey.from_string(agent), "uri", uri)


def test_honest_agent_is_accepted_but_for_its_ratings_which_nobody_reads(check, agent, owner):
    verdict, codes, answer = check(pay_to=str(owner.pubkey()))
    assert (verdict, codes) == (Verdict.CAUTION, {"no_ratings": "caution", "payment_not_offered": "note"})
    assert (answer.agent, answer.account) == (f"{MAINNET}:{SATI}#{agent}", str(owner.pubkey()))
    assert answer.figures == {"holder": str(owner.pubkey()), "wallet_source": "owner"}
    assert answer.unknown[0].startswith("ratings and validations")


def test_payment_to_another_account_and_an_unproven_wallet_are_told(check, agent, owner, stranger, world):
    world.set_field(owner, Pubkey.from_string(agent), "agentWallet", f"{MAINNET}:{stranger.pubkey()}")
    verdict, codes, _ = check(pay_to=str(owner.pubkey()))
    assert (verdict, codes["pay_to_differs"], codes["wallet_unproven"]) == (Verdict.DECLINE, "decline", "note")
    world.set_field(owner, Pubkey.from_string(agent), "agentWallet", "nonsense")
    assert check()[:2] == (Verdict.DECLINE, {"no_wallet": "decline"})


def test_s11_sold_agent_is_declined(check, agent, owner, stranger, world):
    world.transfer_agent(Pubkey.from_string(agent), owner, stranger)
    verdict, codes, answer = check()
    assert (verdict, codes, answer.account) == (Verdict.DECLINE, {"authority_mismatch": "decline"}, None)


def test_odd_optional_fields_of_the_file_cost_the_agent_nothing(check, agent, republish):
    odd = {"active": "true", "image": {}, "supportedTrust": "reputation", "services": [{"url": "https://a.example"}]}
    file = {"name": "A", "registrations": [{"agentId": agent, "agentRegistry": f"{MAINNET}:{SATI}"}], **odd}
    republish(DataUriStore().put(json.dumps(file).encode()).uri)
    verdict, codes, answer = check()
    assert (verdict, codes) == (Verdict.CAUTION, {"no_ratings": "caution"})
    assert answer.untrusted == {"name": "A"}


@pytest.mark.parametrize(
    ("uri", "code"),
    [
        ("", "no_file"),
        ("data:application/json,[1]", "file_malformed"),
        ("https://localhost:1/a.json", "file_unreachable"),
        (DataUriStore().put(b"{}").uri, "file_unconfirmed"),
        (file_of(SATI), "file_of_other_agent"),
    ],
    ids=["none", "malformed", "unreachable", "names nobody", "names another agent"],
)
def test_problems_of_the_file_are_told(check, republish, uri, code):
    republish(uri)
    assert code in check()[1]


def test_errors_are_not_answers(check, agent, stranger, rpc):
    with pytest.raises(AgentRefusedError, match="is not a SATI agent"):
        check(f"{MAINNET}:{stranger.pubkey()}")
    with pytest.raises(WrongNodeError):
        check(f"{DEVNET}:{agent}")
    for malformed in (str(EVM), "solana:x:y", f"{MAINNET}:{stranger.pubkey()}#{agent}"):
        with pytest.raises(MalformedIdentifierError):
            check(malformed)


class OtherChain:
    """The client of an EVM chain whose agent has a file."""

    def __init__(self, file):
        self.file = file

    def get_deployment(self):
        return self

    @property
    def agent_registry(self):
        return EVM.registry

    def load_agent(self, agent_id):
        assert str(agent_id) == "8453:247"
        return self


@pytest.fixture
def entries(agent):
    """The registrations of the agent on both chains."""
    names = ((f"{MAINNET}:{SATI}", agent), (str(EVM.registry), 247))
    return [{"agentRegistry": registry, "agentId": name} for registry, name in names]


def test_registration_on_both_chains_is_proven_if_both_files_name_each_other(check, republish, agent, entries):
    uri = file_of(agent, registrations=entries)
    republish(uri)
    both, own = (
        RegistrationFile.new("Weather", "It forecasts", "https://agent.example/i.png", registrations=named)
        for named in (entries, entries[1:])
    )
    for clients, proof, problem in (
        ({}, "claimed", "no node was configured for eip155:8453"),
        ({"eip155:8453": OtherChain(own)}, "claimed", "its file does not list this agent"),
        ({"eip155:8453": OtherChain(None)}, "claimed", "its file cannot be loaded"),
        ({"eip155:8453": OtherChain(both)}, "both_ways", ""),
    ):
        _, codes, answer = check(clients=clients)
        (other,) = answer.also
        assert (other.agent, other.proof, other.problem) == (str(EVM), proof, problem)
        assert codes["also_proven" if proof == "both_ways" else "also_claimed"] == "note"


def test_file_model_shows_both_registrations(agent, entries):
    """Malformed entries are left out, and the form with the chain before the mint is the same agent."""
    again = {"agentRegistry": f"{MAINNET}:{SATI}", "agentId": f"{MAINNET}:{agent}"}
    broken = [{"agentRegistry": f"{MAINNET}:{SATI}", "agentId": 42}, {"agentRegistry": "x", "agentId": 1}]
    file = RegistrationFile.of({"name": "Weather", "registrations": [*entries, again, *broken]})
    on_solana = GlobalAgentId(AccountId.parse(f"{MAINNET}:{SATI}"), agent)
    assert file.registered_agents() == (on_solana, EVM)


def test_command_shows_the_answer_and_ends_with_its_verdict(rpc, agent, owner, stranger):
    def run(*arguments):
        code, out, err = run_here("check", "server", *arguments, "--json")
        return code, json.loads(out or err)

    named = f"{MAINNET}:{agent}"
    code, answer = run(named, "--live", "--solana-node", rpc, "--pay-to", str(owner.pubkey()))
    assert (code, answer["verdict"], answer["agent"]) == (12, "caution", f"{MAINNET}:{SATI}#{agent}")
    assert run(named, "--live", "--solana-node", rpc, "--pay-to", str(stranger.pubkey()))[0] == 13
    for arguments, problem in (
        ((named,), "agents on Solana are not indexed: add --live"),
        ((named, "--live"), "--live requires a Solana node: pass --solana-node"),
        (("8453:247", "--live", "--solana-node", rpc), "no node is configured: pass --rpc-url"),
        ((named, "--live", "--solana-node", rpc, "--at-block", "5"), "a live check uses no index"),
    ):
        code, answer = run(*arguments)
        assert (code, answer["message"].startswith(problem)) == (2, True), answer
