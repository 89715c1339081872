"""Random sequences of calls. After each step, companion and ratings answer like the model in plain Python."""

from __future__ import annotations

from collections import Counter
from typing import Any

from ape.utils import ZERO_ADDRESS
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from scripts._anvil import restore
from tests.calls import Refused, encoded
from tests.companion.model import CompanionModel
from tests.sequences import play

TOKEN = {
    "mint(uint256)": CompanionModel.mint,
    "burn(uint256)": CompanionModel.burn,
    "transferFrom(address,address,uint256)": CompanionModel.transfer,
    "setAgentWallet(uint256,address)": CompanionModel.set_wallet,
}
FUNCTIONS = {
    "setPrimaryAgent(uint256)": ("companion", CompanionModel.set_primary),
    "proveAgent(uint256)": ("companion", CompanionModel.prove),
    "rateClient(uint256,uint8)": ("ratings", CompanionModel.rate),
    "rateClients(uint256[],uint8[])": ("ratings", CompanionModel.rate_all),
}
"""The functions of companion and ratings, and the methods of the model."""

AGENTS = [0, 1, 2, 3, 33, 2**200]
PEOPLE = range(4)

agents = st.sampled_from([1, 2, 3] * 3 + AGENTS)
people = st.sampled_from(PEOPLE)
callers = st.sampled_from(["owner"] * 3 + ["wallet"] * 2 + [*PEOPLE])
speakers = st.sampled_from(["speaker", "last speaker"] * 3 + [*PEOPLE])


class Machine(RuleBasedStateMachine):
    """Calls the contracts and the model alike, and compares all their answers."""

    chain: Any
    node: Any
    addresses: dict
    everybody: list
    tally: Counter

    def __init__(self):
        super().__init__()
        self.snapshot = self.chain.snapshot()
        self.model = CompanionModel()

    def teardown(self):
        restore(self.chain, self.snapshot)

    def account(self, who, agent_id=None):
        """Return the account in a role, or any other if nobody has it."""
        if who in ("speaker", "last speaker"):
            speakers = [account for account in self.everybody if self.model.agent_of(account)] or [0]
            who = speakers[-1 if who == "last speaker" else 0]
        if who == "owner":
            who = self.model.owners.get(agent_id, 0)
        if who == "wallet":
            who = self.model.wallets.get(agent_id, 0)
        return who if isinstance(who, str) and who != ZERO_ADDRESS else self.everybody[who if who in PEOPLE else 0]

    def ask(self, target, questions, caller=ZERO_ADDRESS):
        calls = [("eth_call", [self.transaction(caller, target, *question), "latest"]) for question in questions]
        return [
            ("error", bytes.fromhex(response["error"]["data"][2:]))
            if "error" in response
            else ("result", bytes.fromhex(response["result"][2:]))
            for response in self.node.web3.provider.make_batch_request(calls)
        ]

    def send(self, caller, target, *call):
        sent = self.node.make_request("eth_sendTransaction", [self.transaction(caller, target, *call)])
        assert self.node.web3.eth.wait_for_transaction_receipt(sent, poll_latency=0.002)["status"] == 1

    def transaction(self, caller, target, *call):
        data = f"0x{encoded(*call).hex()}"
        return {"from": caller, "to": self.addresses[target], "data": data, "gas": hex(3_000_000)}

    def change(self, caller, function, *arguments):
        """Make a valid call of the token."""
        TOKEN[function](self.model, caller, *arguments)
        self.send(caller, "token", function, *arguments)

    def call(self, caller, function, *arguments):
        """Make a call of companion or ratings, which must end as the model says."""
        target, method = FUNCTIONS[function]
        try:
            method(self.model, caller, *arguments)
        except Refused as refusal:
            self.tally[function, "refused"] += 1
            assert self.ask(target, [(function, *arguments)], caller) == [("error", refusal.data)]
        else:
            self.tally[function, "accepted"] += 1
            self.send(caller, target, function, *arguments)

    @initialize(owners=st.lists(people, min_size=4, max_size=4))
    def begin_with_agents(self, owners):
        for agent_id, who in zip(AGENTS, owners, strict=False):
            self.change(self.account(who), "mint(uint256)", agent_id)
            if agent_id != 0:
                self.call(self.account(who), "setPrimaryAgent(uint256)", agent_id)

    @rule(who=people, agent_id=agents)
    def mint(self, who, agent_id):
        if agent_id not in self.model.owners:
            self.change(self.account(who), "mint(uint256)", agent_id)

    @rule(agent_id=agents, receiver=people, burns=st.sampled_from([True, *[False] * 5]))
    def hand_over(self, agent_id, receiver, burns):
        if agent_id not in self.model.owners:
            return
        owner = self.model.owners[agent_id]
        if burns:
            self.change(owner, "burn(uint256)", agent_id)
        else:
            self.change(owner, "transferFrom(address,address,uint256)", owner, self.account(receiver), agent_id)

    @rule(agent_id=agents, wallet=st.sampled_from([*PEOPLE, None]))
    def set_wallet(self, agent_id, wallet):
        if agent_id in self.model.owners:
            account = ZERO_ADDRESS if wallet is None else self.account(wallet)
            self.change(self.model.owners[agent_id], "setAgentWallet(uint256,address)", agent_id, account)

    @rule(who=callers, agent_id=agents, then=st.sampled_from(["nothing", "rate", "rate many"]), subject=agents)
    def set_primary_agent(self, who, agent_id, then, subject):
        """Choose an agent, and mostly rate as it. Random draws alone rarely find a caller that speaks."""
        account = self.account(who, agent_id)
        self.call(account, "setPrimaryAgent(uint256)", agent_id)
        if then == "rate":
            self.call(account, "rateClient(uint256,uint8)", subject, 35)
        if then == "rate many":
            self.call(account, "rateClients(uint256[],uint8[])", (subject,), (92,))

    @rule(who=people, agent_id=agents)
    def prove_agent(self, who, agent_id):
        self.call(self.account(who), "proveAgent(uint256)", agent_id)

    @rule(who=speakers, agent_id=agents, rating=st.integers(0, 100))
    def rate_client(self, who, agent_id, rating):
        self.call(self.account(who), "rateClient(uint256,uint8)", agent_id, rating)

    @rule(who=speakers, agent_ids=st.lists(agents, min_size=1, max_size=2))
    def rate_clients(self, who, agent_ids):
        ratings = tuple(range(len(agent_ids)))
        self.call(self.account(who), "rateClients(uint256[],uint8[])", tuple(agent_ids), ratings)

    @invariant()
    def contracts_answer_like_the_model(self):
        for target, expected in (
            ("companion", self.model.companion_answers(self.everybody, AGENTS)),
            ("ratings", self.model.rating_answers(AGENTS)),
        ):
            for (question, answered), answer in zip(expected.items(), self.ask(target, expected), strict=True):
                refused = isinstance(answered, Refused)
                assert answer == (("error", answered.data) if refused else ("result", answered)), question


def test_contracts_answer_like_the_model_after_any_sequence_of_calls(
    project, chain, networks, deployer, owner, other_owner, client, wallet_key, part
):
    token = deployer.deploy(project.MockWalletToken)
    companion = deployer.deploy(project.CompanionDirectory, token)
    ratings = deployer.deploy(project.BidirectionalReputationRegistry, companion)
    addresses = {"token": token.address, "companion": companion.address, "ratings": ratings.address}
    tally = Counter()
    world = {
        "chain": chain,
        "node": networks.provider,
        "addresses": addresses,
        "everybody": [account.address for account in (owner, other_owner, client, wallet_key)],
        "tally": tally,
    }

    play(type("CompanionMachine", (Machine,), world), examples=round(15 * part), steps=30)

    accepted = {function: tally[function, "accepted"] for function in FUNCTIONS}
    refused = {function: tally[function, "refused"] for function in FUNCTIONS}
    assert sum(accepted.values()) >= (sum(accepted.values()) + sum(refused.values())) / 4
    assert min(accepted.values()) > 0, "every function was accepted some time"
    assert min(refused.values()) > 0, "every function was refused some time"
