"""Random sequences of calls, compared after each step with the model in plain Python."""

from __future__ import annotations

from collections import Counter

from ape.utils import ZERO_ADDRESS
from eth_abi import encode
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from bilateral.signatures import AgentWalletSet, Domain
from tests.identity.indexing import primary_agents
from tests.identity.model import IdentityModel, Refused, encoded

DOMAINS = ["alpha.example", "ALPHA.example", "Beta.Example", "beta.example"]
KEYS = ["category", "agentName"]
URIS = ["", "ipfs://short", "https://agent.example/" + "long" * 60]
VALUES = [b"", b"value", bytes(range(1, 100))]

SETTINGS = settings(
    max_examples=25,
    stateful_step_count=30,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)

people = st.integers(0, 5)
"""Five plain accounts and a contract wallet."""

callers = st.sampled_from(["owner", "owner", "owner", "wallet", "approved"]) | people
"""Whoever plays that role for the agent in question, or somebody."""

agents = st.integers(0, 9)
"""0: one that is not registered."""


def test_registry_answers_like_the_model_after_any_sequence_of_calls(identity, chain, networks, accounts, wallet_key, contract_wallet):
    tally = Counter()
    node = networks.provider
    signers = {account.address: account for account in [*accounts[1:5], wallet_key]}
    signers[contract_wallet.address] = wallet_key
    node.set_balance(contract_wallet.address, 10**20)
    node.make_request("anvil_impersonateAccount", [contract_wallet.address])
    everybody = list(signers)

    class Machine(RuleBasedStateMachine):
        def __init__(self):
            super().__init__()
            self.snapshot = chain.snapshot()
            self.first_block = chain.blocks.head.number + 1
            self.model = IdentityModel()

        def teardown(self):
            derived = primary_agents(self.all_events())
            chain.restore(self.snapshot)
            assert derived == self.model.primary

        # How a call is made and judged

        def do(self, caller, expected, signature, *arguments):
            """Make a call: the registry must return what the model does, or revert with the same data."""
            transaction = {
                "from": caller,
                "to": identity.address,
                "data": f"0x{encoded(signature, *arguments).hex()}",
                "gas": hex(2_000_000),
            }
            tally["calls"] += 1
            (answer,) = ask_node([transaction])
            try:
                returned = expected()
            except Refused as refused:
                tally[signature, "refused"] += 1
                assert answer == ("error", refused.data), (signature, arguments, refused)
                return
            assert answer == ("result", b"" if returned is None else encode(["uint256"], [int(returned)]))
            receipt = node.web3.eth.wait_for_transaction_receipt(node.web3.eth.send_transaction(transaction))
            assert receipt["status"] == 1
            tally["accepted"] += 1
            tally[signature, "accepted"] += 1

        def all_events(self):
            logs = node.web3.eth.get_logs({"address": identity.address, "fromBlock": self.first_block})
            ecosystem = node.network.ecosystem
            decoded = ecosystem.decode_logs([dict(log) for log in logs], *identity.contract_type.events)
            return [(event.event_name, event.event_arguments) for event in decoded]

        def choose_agent(self, pick):
            count = len(self.model.agents)
            return (pick - 1) % count + 1 if pick and count else count + 1

        def choose_caller(self, who, agent_id):
            if isinstance(who, int):
                return everybody[who]
            account = getattr(self.model.agents.get(agent_id), who, ZERO_ADDRESS)
            return account if account in signers else everybody[0]

        # The calls

        @initialize(owners=st.lists(people, min_size=1, max_size=3))
        def begin_with_some_agents(self, owners):
            for owner in owners:
                caller = everybody[owner]
                self.do(caller, lambda caller=caller: self.model.register(caller), "register()")

        @rule(caller=people, uri=st.sampled_from(URIS))
        def register(self, caller, uri):
            caller = everybody[caller]
            self.do(caller, lambda: self.model.register(caller, uri), "register(string)", uri)

        @rule(
            caller=people,
            entries=st.lists(st.tuples(st.sampled_from([*KEYS, *KEYS, "agentWallet"]), st.sampled_from(VALUES)), max_size=3),
        )
        def register_with_metadata(self, caller, entries):
            caller = everybody[caller]
            self.do(
                caller,
                lambda: self.model.register(caller, "", entries),
                "register(string,(string,bytes)[])",
                "",
                entries,
            )

        @rule(caller=people, address=people | st.none(), domain=st.sampled_from([*DOMAINS, ""]))
        def new_agent(self, caller, address, domain):
            caller, address = everybody[caller], everybody[caller if address is None else address]
            self.do(
                caller, lambda: self.model.new_agent(caller, domain, address), "newAgent(string,address)", domain, address
            )

        @rule(agent=agents, who=callers, domain=st.sampled_from([*DOMAINS, ""]), address=st.none() | people)
        def update_agent(self, agent, who, domain, address):
            agent_id = self.choose_agent(agent)
            caller = self.choose_caller(who, agent_id)
            receiver = ZERO_ADDRESS if address is None else everybody[address]
            self.do(
                caller,
                lambda: self.model.update_agent(caller, agent_id, domain, receiver),
                "updateAgent(uint256,string,address)",
                agent_id,
                domain,
                receiver,
            )

        @rule(agent=agents, who=callers, sender=callers, receiver=people | st.none(), safely=st.booleans())
        def transfer(self, agent, who, sender, receiver, safely):
            agent_id = self.choose_agent(agent)
            caller, sender = self.choose_caller(who, agent_id), self.choose_caller(sender, agent_id)
            receiver = ZERO_ADDRESS if receiver is None else everybody[receiver]
            self.do(
                caller,
                lambda: self.model.transfer(caller, sender, receiver, agent_id),
                "safeTransferFrom(address,address,uint256)" if safely else "transferFrom(address,address,uint256)",
                sender,
                receiver,
                agent_id,
            )

        @rule(agent=agents, who=callers)
        def transfer_to_the_wallet(self, agent, who):
            """A receiver that a random choice hits too rarely."""
            agent_id = self.choose_agent(agent)
            caller, sender = self.choose_caller(who, agent_id), self.choose_caller("owner", agent_id)
            receiver = self.choose_caller("wallet", agent_id)
            self.do(
                caller,
                lambda: self.model.transfer(caller, sender, receiver, agent_id),
                "transferFrom(address,address,uint256)",
                sender,
                receiver,
                agent_id,
            )

        @rule(agent=agents, who=callers, account=people | st.none())
        def approve(self, agent, who, account):
            agent_id = self.choose_agent(agent)
            caller = self.choose_caller(who, agent_id)
            account = ZERO_ADDRESS if account is None else everybody[account]
            self.do(
                caller,
                lambda: self.model.approve(caller, account, agent_id),
                "approve(address,uint256)",
                account,
                agent_id,
            )

        @rule(caller=people, operator=people | st.none(), is_approved=st.booleans())
        def set_approval_for_all(self, caller, operator, is_approved):
            caller = everybody[caller]
            operator = ZERO_ADDRESS if operator is None else everybody[operator]
            self.do(
                caller,
                lambda: self.model.set_approval_for_all(caller, operator, is_approved),
                "setApprovalForAll(address,bool)",
                operator,
                is_approved,
            )

        @rule(
            agent=agents,
            who=callers,
            wallet=people | people | st.none(),
            delay=st.sampled_from([120, 120, 120, 200, -1, 1_000]),
            signer=st.none() | st.none() | people,
        )
        def set_agent_wallet(self, agent, who, wallet, delay, signer):
            agent_id = self.choose_agent(agent)
            caller = self.choose_caller(who, agent_id)
            wallet = ZERO_ADDRESS if wallet is None else everybody[wallet]
            key = signers.get(wallet, wallet_key) if signer is None else signers[everybody[signer]]
            owner = getattr(self.model.agents.get(agent_id), "owner", ZERO_ADDRESS)
            deadline = chain.blocks.head.timestamp + delay
            message = AgentWalletSet(agent_id, wallet, owner, deadline).signable(Domain(chain.chain_id, identity.address))
            signature = bytes(key.sign_message(message).encode_rsv())
            self.do(
                caller,
                lambda: self.model.set_wallet(caller, agent_id, wallet, delay, key == signers.get(wallet)),
                "setAgentWallet(uint256,address,uint256,bytes)",
                agent_id,
                wallet,
                deadline,
                signature,
            )

        @rule(agent=agents, who=callers)
        def unset_agent_wallet(self, agent, who):
            agent_id = self.choose_agent(agent)
            caller = self.choose_caller(who, agent_id)
            self.do(
                caller, lambda: self.model.unset_wallet(caller, agent_id), "unsetAgentWallet(uint256)", agent_id
            )

        @rule(agent=agents, who=callers)
        def set_primary_agent(self, agent, who):
            agent_id = self.choose_agent(agent)
            caller = self.choose_caller(who, agent_id)
            self.do(caller, lambda: self.model.set_primary(caller, agent_id), "setPrimaryAgent(uint256)", agent_id)

        @rule(agent=agents, who=callers, uri=st.sampled_from(URIS))
        def set_agent_uri(self, agent, who, uri):
            agent_id = self.choose_agent(agent)
            caller = self.choose_caller(who, agent_id)
            self.do(
                caller, lambda: self.model.set_uri(caller, agent_id, uri), "setAgentURI(uint256,string)", agent_id, uri
            )

        @rule(agent=agents, who=callers, key=st.sampled_from([*KEYS, "agentWallet"]), value=st.sampled_from(VALUES))
        def set_metadata(self, agent, who, key, value):
            agent_id = self.choose_agent(agent)
            caller = self.choose_caller(who, agent_id)
            self.do(
                caller,
                lambda: self.model.set_metadata(caller, agent_id, key, value),
                "setMetadata(uint256,string,bytes)",
                agent_id,
                key,
                value,
            )

        # What holds after each of them

        @invariant()
        def registry_answers_like_the_model(self):
            questions = self.model.answers(everybody, DOMAINS, KEYS)
            answers = dict(zip(questions, ask_registry(questions), strict=True))
            for question, expected in questions.items():
                if isinstance(expected, Refused):
                    assert answers[question] == ("error", expected.data), question
                else:
                    assert answers[question] == ("result", encode(*expected)), question

        @invariant()
        def whoever_speaks_as_an_agent_is_its_owner_or_wallet(self):
            for account in everybody:
                ((_, word),) = ask_registry([("agentOf(address)", account)])
                agent_id = int.from_bytes(word, "big")
                if agent_id:
                    entitled = ask_registry([("ownerOf(uint256)", agent_id), ("getAgentWallet(uint256)", agent_id)])
                    assert ("result", encode(["address"], [account])) in entitled

    def ask_registry(questions):
        return ask_node(
            [{"to": identity.address, "data": f"0x{encoded(*question).hex()}"} for question in questions]
        )

    def ask_node(calls):
        """Many `eth_call`s in one request: for each `("result", data)` or `("error", data)`."""
        responses = node.web3.provider.make_batch_request([("eth_call", [call, "latest"]) for call in calls])
        return [
            ("error", bytes.fromhex(response["error"]["data"][2:]))
            if "error" in response
            else ("result", bytes.fromhex(response["result"][2:]))
            for response in responses
        ]

    run_state_machine_as_test(Machine, settings=SETTINGS)
    assert tally["accepted"] >= tally["calls"] / 4, "most calls of the machine are refused"
    print(tally)
