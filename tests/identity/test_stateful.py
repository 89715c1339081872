"""Random sequences of calls. After each step, the registry's answers equal those of the model in plain Python."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from ape.utils import ZERO_ADDRESS
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from bilateral.core.signatures import AgentWalletSet, Domain
from scripts._anvil import restore
from tests.calls import Refused, answer, encoded
from tests.identity.indexing import states
from tests.identity.model import IdentityModel
from tests.sequences import play

FUNCTIONS = {
    "register()": IdentityModel.register,
    "register(string)": IdentityModel.register,
    "register(string,(string,bytes)[])": IdentityModel.register,
    "newAgent(string,address)": IdentityModel.new_agent,
    "updateAgent(uint256,string,address)": IdentityModel.update_agent,
    "releaseAgentDomain(uint256)": IdentityModel.release_agent_domain,
    "transferFrom(address,address,uint256)": IdentityModel.transfer,
    "safeTransferFrom(address,address,uint256)": IdentityModel.transfer,
    "approve(address,uint256)": IdentityModel.approve,
    "setApprovalForAll(address,bool)": IdentityModel.set_approval_for_all,
    "setAgentURI(uint256,string)": IdentityModel.set_uri,
    "setMetadata(uint256,string,bytes)": IdentityModel.set_metadata,
    "setAgentWallet(uint256,address,uint256,bytes)": IdentityModel.set_wallet,
    "unsetAgentWallet(uint256)": IdentityModel.unset_wallet,
    "setPrimaryAgent(uint256)": IdentityModel.set_primary,
}
"""The functions of the registry, and the methods of the model."""

NEVER_REFUSED = {"register()", "register(string)"}

PEOPLE = range(6)
"""Five plain accounts and a contract wallet."""

DOMAINS = ["alpha.example", "ALPHA.example", "Beta.Example", "beta.example", "gamma.example"]
KEYS = ["category", "agentName"]
URIS = ["", "ipfs://short", "https://agent.example/" + "long" * 60]
VALUES = [b"", b"value", bytes(range(1, 100))]

people = st.sampled_from(PEOPLE)
people_or_nobody = st.sampled_from([*PEOPLE, *PEOPLE, None])
agents = st.integers(0, 11)
"""The number of a registered agent, modulo the number of agents; 0: an unregistered agent."""

callers = st.sampled_from(["owner"] * 6 + ["wallet", "approved", *PEOPLE])
"""The account in this role for the agent, or any account."""


@dataclass
class Registry:
    """The registry by plain JSON-RPC, so that thousands of calls take seconds."""

    address: str
    node: Any

    def ask(self, questions, caller=ZERO_ADDRESS):
        """Simulate many calls in one request. Return `("result", data)` or `("error", data)` for each."""
        calls = [self.transaction(caller, *question) for question in questions]
        responses = self.node.web3.provider.make_batch_request([("eth_call", [call, "latest"]) for call in calls])
        return [
            ("error", bytes.fromhex(response["error"]["data"][2:]))
            if "error" in response
            else ("result", bytes.fromhex(response["result"][2:]))
            for response in responses
        ]

    def send(self, caller, *call):
        """Send a transaction that succeeds. The node signs for its own accounts and for impersonated ones."""
        transaction_hash = self.node.make_request("eth_sendTransaction", [self.transaction(caller, *call)])
        receipt = self.node.web3.eth.wait_for_transaction_receipt(transaction_hash, poll_latency=0.002)
        assert receipt["status"] == 1

    def transaction(self, caller, *call):
        return {"from": caller, "to": self.address, "data": f"0x{encoded(*call).hex()}", "gas": hex(3_000_000)}


class Machine(RuleBasedStateMachine):
    """Calls the registry and the model alike, and compares all their answers."""

    chain: Any
    registry: Registry
    signers: dict
    """The signer of each account, by address. A contract wallet's key signs for the wallet."""
    tally: Counter

    def __init__(self):
        super().__init__()
        self.snapshot = self.chain.snapshot()
        self.first_block = self.chain.blocks.head.number + 1
        self.model = IdentityModel()
        self.everybody = list(self.signers)

    def teardown(self):
        derived = states(self.registry.node, self.registry.address, self.first_block)
        restore(self.chain, self.snapshot)
        agents = self.model.agents.items()
        assert derived.primary_agents == self.model.primary, "events alone tell every primary agent"
        assert derived.owners == {agent_id: agent.owner for agent_id, agent in agents}
        assert derived.wallets == {id_: agent.wallet for id_, agent in agents if agent.wallet != ZERO_ADDRESS}

    # Callers and comparisons

    def agent(self, pick):
        count = len(self.model.agents)
        return (pick - 1) % count + 1 if pick and count else count + 1

    def account(self, who):
        return ZERO_ADDRESS if who is None else self.everybody[who]

    def in_role(self, who, agent_id):
        if who not in ("owner", "wallet", "approved"):
            return self.account(who)
        account = getattr(self.model.agents.get(agent_id), who, ZERO_ADDRESS)
        return account if account != ZERO_ADDRESS else self.account(0)

    def call(self, caller, function, *arguments, as_modelled=None):
        """Call the registry and the model. Both return the same values or revert with the same data."""
        (actual,) = self.registry.ask([(function, *arguments)], caller)
        try:
            returned = FUNCTIONS[function](self.model, caller, *(as_modelled or arguments))
        except Refused as refused:
            self.tally[function, "refused"] += 1
            assert actual == ("error", refused.data), refused
            return
        self.tally[function, "accepted"] += 1
        assert actual == ("result", b"" if returned is None else answer("uint256", int(returned)))
        self.registry.send(caller, function, *arguments)

    # The calls

    @initialize(owner=people)
    def begin_with_an_agent(self, owner):
        self.call(self.account(owner), "register()")

    @rule(caller=people, uri=st.sampled_from([None, *URIS]))
    def register(self, caller, uri):
        if uri is None:
            self.call(self.account(caller), "register()")
        else:
            self.call(self.account(caller), "register(string)", uri)

    @rule(
        caller=people,
        uri=st.sampled_from(URIS),
        entries=st.lists(st.tuples(st.sampled_from([*KEYS * 4, "agentWallet"]), st.sampled_from(VALUES)), max_size=3),
    )
    def register_with_metadata(self, caller, uri, entries):
        self.call(self.account(caller), "register(string,(string,bytes)[])", uri, tuple(entries))

    @rule(
        caller=st.sampled_from(["newcomer"] * 6 + [*PEOPLE]),
        address=st.sampled_from([None] * 12 + [*PEOPLE]),
        domain=st.sampled_from([*DOMAINS, *DOMAINS, ""]),
    )
    def new_agent(self, caller, address, domain):
        newcomers = [account for account in self.everybody if not self.model.has_agent(account)]
        caller = [*newcomers, self.account(0)][0] if caller == "newcomer" else self.account(caller)
        self.call(caller, "newAgent(string,address)", domain, caller if address is None else self.account(address))

    @rule(
        agent=agents,
        who=callers,
        domain=st.sampled_from([*DOMAINS, ""]),
        receiver=st.sampled_from([None] * 6 + [*PEOPLE, "wallet"]),
    )
    def update_agent(self, agent, who, domain, receiver):
        agent_id = self.agent(agent)
        caller, receiver = self.in_role(who, agent_id), self.in_role(receiver, agent_id)
        self.call(caller, "updateAgent(uint256,string,address)", agent_id, domain, receiver)

    @rule(agent=agents, who=callers)
    def release_agent_domain(self, agent, who):
        agent_id = self.agent(agent)
        self.call(self.in_role(who, agent_id), "releaseAgentDomain(uint256)", agent_id)

    @rule(
        agent=agents,
        who=callers,
        sender=st.sampled_from(["owner"] * 12 + [*PEOPLE]),
        receiver=st.sampled_from([*PEOPLE, "owner", "wallet", "wallet", None]),
        function=st.sampled_from(["transferFrom", "safeTransferFrom"]),
    )
    def transfer(self, agent, who, sender, receiver, function):
        agent_id = self.agent(agent)
        caller, sender, receiver = (self.in_role(role, agent_id) for role in (who, sender, receiver))
        self.call(caller, f"{function}(address,address,uint256)", sender, receiver, agent_id)

    @rule(agent=agents, who=callers, account=people_or_nobody)
    def approve(self, agent, who, account):
        agent_id = self.agent(agent)
        self.call(self.in_role(who, agent_id), "approve(address,uint256)", self.account(account), agent_id)

    @rule(caller=people, operator=people_or_nobody, is_approved=st.booleans())
    def set_approval_for_all(self, caller, operator, is_approved):
        self.call(self.account(caller), "setApprovalForAll(address,bool)", self.account(operator), is_approved)

    @rule(
        agent=agents,
        who=callers,
        wallet=people_or_nobody,
        delay=st.sampled_from([120] * 8 + [-1, 1_000]),
        signer=st.sampled_from([None] * 12 + [*PEOPLE]),
    )
    def set_agent_wallet(self, agent, who, wallet, delay, signer):
        agent_id, wallet = self.agent(agent), self.account(wallet)
        rightful_key = self.signers.get(wallet)
        key = rightful_key if signer is None and rightful_key else self.signers[self.account(signer or 0)]
        self.call_set_agent_wallet(self.in_role(who, agent_id), agent_id, wallet, delay, key)

    @rule(agent=agents, wallet=people, then=st.sampled_from(["nothing", "transfer it", "update it", "choose it"]))
    def prove_wallet(self, agent, wallet, then):
        """Set a consenting wallet, and call functions as that wallet. Random draws alone rarely find such calls."""
        agent_id, wallet = self.agent(agent), self.account(wallet)
        owner = self.in_role("owner", agent_id)
        self.call_set_agent_wallet(owner, agent_id, wallet, 120, self.signers[wallet])
        if then == "choose it":
            self.call(wallet, "setPrimaryAgent(uint256)", agent_id)
        if then == "transfer it":
            self.call(owner, "transferFrom(address,address,uint256)", owner, wallet, agent_id)
        if then == "update it":
            self.call(owner, "updateAgent(uint256,string,address)", agent_id, "", wallet)

    def call_set_agent_wallet(self, caller, agent_id, wallet, delay, key):
        owner = getattr(self.model.agents.get(agent_id), "owner", ZERO_ADDRESS)
        deadline = self.chain.blocks.head.timestamp + delay
        domain = Domain(self.chain.chain_id, self.registry.address)
        signature = key.sign_message(AgentWalletSet(agent_id, wallet, owner, deadline).signable(domain)).encode_rsv()
        self.call(
            caller,
            "setAgentWallet(uint256,address,uint256,bytes)",
            agent_id,
            wallet,
            deadline,
            bytes(signature),
            as_modelled=(agent_id, wallet, delay, key == self.signers.get(wallet)),
        )

    @rule(agent=agents, who=callers)
    def unset_agent_wallet(self, agent, who):
        agent_id = self.agent(agent)
        self.call(self.in_role(who, agent_id), "unsetAgentWallet(uint256)", agent_id)

    @rule(agent=agents, who=callers)
    def set_primary_agent(self, agent, who):
        agent_id = self.agent(agent)
        self.call(self.in_role(who, agent_id), "setPrimaryAgent(uint256)", agent_id)

    @rule(agent=agents, who=callers, uri=st.sampled_from(URIS))
    def set_agent_uri(self, agent, who, uri):
        agent_id = self.agent(agent)
        self.call(self.in_role(who, agent_id), "setAgentURI(uint256,string)", agent_id, uri)

    @rule(agent=agents, who=callers, key=st.sampled_from([*KEYS * 3, "agentWallet"]), value=st.sampled_from(VALUES))
    def set_metadata(self, agent, who, key, value):
        agent_id = self.agent(agent)
        self.call(self.in_role(who, agent_id), "setMetadata(uint256,string,bytes)", agent_id, key, value)

    # Invariants after each call

    @invariant()
    def registry_answers_like_the_model(self):
        expected = self.model.answers(self.everybody, DOMAINS, KEYS)
        for (question, answered), actual in zip(expected.items(), self.registry.ask(expected), strict=True):
            refused = isinstance(answered, Refused)
            assert actual == (("error", answered.data) if refused else ("result", answered)), question

    @invariant()
    def whoever_speaks_as_an_agent_is_its_owner_or_wallet(self):
        words = self.registry.ask(("agentOf(address)", account) for account in self.everybody)
        agent_ids = [int.from_bytes(word, "big") for _, word in words]
        owners = self.registry.ask(("ownerOf(uint256)", agent_id) for agent_id in agent_ids)
        wallets = self.registry.ask(("getAgentWallet(uint256)", agent_id) for agent_id in agent_ids)
        for account, agent_id, *entitled in zip(self.everybody, agent_ids, owners, wallets, strict=True):
            assert agent_id == 0 or ("result", answer("address", account)) in entitled


def test_registry_answers_like_the_model_after_any_sequence_of_calls(
    identity, chain, networks, owner, other_owner, operator, stranger, wallet_key, contract_wallet
):
    node = networks.provider
    node.set_balance(contract_wallet.address, 10**20)
    node.make_request("anvil_impersonateAccount", [contract_wallet.address])
    people = {account.address: account for account in (owner, other_owner, operator, stranger, wallet_key)}
    people[contract_wallet.address] = wallet_key
    tally = Counter()
    world = {
        "chain": chain,
        "registry": Registry(identity.address, node),
        "signers": people,
        "tally": tally,
    }

    play(type("IdentityMachine", (Machine,), world), examples=25, steps=25)

    accepted = {function: tally[function, "accepted"] for function in FUNCTIONS}
    refused = {function: tally[function, "refused"] for function in FUNCTIONS}
    assert sum(accepted.values()) >= (sum(accepted.values()) + sum(refused.values())) / 4
    assert min(accepted.values()) > 0, "every function was accepted some time"
    assert {function for function, times in refused.items() if not times} == NEVER_REFUSED
