"""A node alone answers whether to pay a server, within sixty requests, whatever ranges of blocks it gives."""

from __future__ import annotations

import time
from dataclasses import replace
from decimal import Decimal

import pytest
from eth_account import Account
from web3 import HTTPProvider, Web3

from bilateral.checks import Code, Policy, Trust, Verdict, check_live_server
from bilateral.checks.from_node import MOST_REQUESTS
from bilateral.client import Client
from bilateral.core.contracts import Deployment, Registry, abi
from bilateral.core.contracts.records import DeploymentRecord
from bilateral.core.errors import InvalidArgumentError
from bilateral.dev.contracts import LocalChain
from bilateral.documents import RegistrationFile
from bilateral.solana.addresses import MAINNET, SATI
from scripts._anvil import running_anvil
from scripts._build import build
from tests.index.proxy import Proxy, range_of, refusal

BLOCKS = 40_000_000
MINT = "7v91N7iZ9mNicL8WfG6cgSCKyRXydQjLh6UYBWwm6y1Q"
RATERS = 1_000
QUIET = 250
"""Blocks since the last event: more than twenty requests of ten blocks reach."""

OWNER = Account.from_key("0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d")
OPTIONS = ("--number", str(BLOCKS), "--gas-limit", "1000000000", "--hardfork", "cancun")


class World:
    """A chain of forty million blocks with an agent that a thousand clients rated."""

    def __init__(self, url):
        self.url, self.web3 = url, Web3(HTTPProvider(url))
        record, _ = LocalChain(url).deploy()
        named = Deployment._of(DeploymentRecord.model_validate(record))
        self.deployment = replace(named, first_block=0)  # as of the canonical registries, whose block nobody wrote down
        self.deployer = self.web3.eth.accounts[0]
        with self.client(url, signer=OWNER) as client:
            self.agent = client.register_agent().wait().agent
            elsewhere = {"agentRegistry": f"{MAINNET}:{SATI}", "agentId": MINT}
            file = RegistrationFile.new(
                "Weather", "Forecasts", "https://agent.example/i.png", x402Support=True, registrations=[elsewhere]
            )
            client.set_agent_uri(self.agent, file=file).wait()
        self.raters = self._gather()
        self.web3.provider.make_request("anvil_mine", [hex(QUIET)])

    def client(self, url, **options):
        return Client(url, deployment=self.deployment, poll_interval=0.01, **options)

    def _gather(self):
        """Let a thousand contracts rate the agent, half of them by 80 and half by 100."""
        crowd = build("MockFeedbackCrowd")
        contract = self.web3.eth.contract(abi=crowd.abi, bytecode=crowd.creation_code)
        address = self._mined(contract.constructor())["contractAddress"]
        crowd = self.web3.eth.contract(address=address, abi=crowd.abi)
        self._mined(crowd.functions.gather(RATERS))
        registry = self.web3.eth.contract(self.deployment.reputation, abi=list(abi(Registry.BIDIRECTIONAL)))
        for value, start in ((80, 0), (100, RATERS // 2)):
            words = (self.agent.token_id, value, 0, "starred", "", "", "", bytes(32))
            data = registry.encode_abi("giveFeedback", words)
            self._mined(crowd.functions.performAll(registry.address, data, start, start + RATERS // 2))
        return crowd.functions.clients().call()

    def _mined(self, call):
        sent = call.transact({"from": self.deployer, "gas": 900_000_000})
        receipt = self.web3.eth.wait_for_transaction_receipt(sent, poll_latency=0.01)
        assert receipt["status"] == 1
        return receipt


@pytest.fixture(scope="module")
def world():
    with running_anvil(*OPTIONS) as url:
        yield World(url)


def limited(most):
    """Refuse ranges of more blocks than a plan gives, in the words of a provider's free plan."""

    def rule(parameters):
        first, last = range_of(parameters)
        return refusal(
            "Under the Free tier plan, you can make eth_getLogs requests with up to a "
            f"{most} block range. Based on your parameters, this block range should work: "
            f"[{first:#x}, {min(last, first + most - 1):#x}]. Upgrade to PAYG for expanded block range.",
            -32600,
            status=400,
        )

    def answer(node, parameters):
        first, last = range_of(parameters)
        return rule(parameters) if last - first >= most else node.forward("eth_getLogs", parameters)["result"]

    return answer


def asked(world, most, **options):
    """Check the agent through a node with a limit; the answer, the requests that the node saw, and the seconds."""
    with Proxy(world.url) as node, world.client(node.url) as client:
        node.own["eth_getLogs"] = lambda parameters: limited(most)(node, parameters)
        began = time.monotonic()
        answer = check_live_server(client, world.agent, **options)
        return answer, len(node.calls), time.monotonic() - began


@pytest.mark.sample(2)
@pytest.mark.parametrize("most", [5, 10, 10_000, BLOCKS * 2])
def test_thousand_ratings_on_forty_million_blocks_take_sixty_requests_and_fifteen_seconds(world, most):
    answer, requests, seconds = asked(world, most)
    assert requests <= MOST_REQUESTS
    assert seconds < 15
    assert answer.figures["requests"] == requests
    rating = answer.figures["rating"]
    assert (rating["rating"], rating["raters"], rating["count"]) == (Decimal(90), RATERS, RATERS)
    assert (answer.account, answer.untrusted["name"]) == (OWNER.address, "Weather")


def test_age_is_known_where_the_logs_reach_back_to_the_registration(world):
    answer, _, _ = asked(world, BLOCKS * 2)
    assert answer.figures["age_days"] == 0
    assert answer.figures["handovers_known_from_block"] == 0
    assert not [text for text in answer.unknown if "the age of the agent" in text]


def test_partial_knowledge_is_named_with_its_block(world):
    answer, requests, _ = asked(world, 10)
    known = answer.figures["handovers_known_from_block"]
    assert requests > 40
    assert answer.block - 20 * 10 <= known < answer.block
    assert "the age of the agent: the node does not return logs that old" in answer.unknown
    assert (
        f"changes of owner and wallet before block {known}: the node returns neither older logs nor older states"
    ) in answer.unknown


def test_registration_on_solana_is_a_claim(world):
    answer, _, _ = asked(world, 10)
    (claim,) = answer.also
    assert (claim.agent, claim.proof) == (f"{MAINNET}:{SATI}#{MINT}", "claimed")
    assert Code.ALSO_CLAIMED in {reason.code for reason in answer.reasons}


def test_payment_to_another_account_is_declined(world):
    answer, _, _ = asked(world, 10, pay_to=world.deployer)
    assert answer.verdict is Verdict.DECLINE
    assert answer.reasons[0].code is Code.PAY_TO_DIFFERS


def test_ratings_of_trusted_accounts_alone_count(world):
    answer, _, _ = asked(world, 10, policy=Policy(trust=Trust(accounts=tuple(world.raters[-2:]))))
    rating = answer.figures["rating"]
    assert (rating["rating"], rating["raters"]) == (Decimal(100), 2)


def test_policy_that_only_an_index_can_answer_is_refused(world):
    with pytest.raises(InvalidArgumentError, match=r"require_payment_proof requires an index: remove it"):
        asked(world, 10, policy=Policy(require_payment_proof=True))
