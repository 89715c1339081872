"""The registries and the model side by side: calls to both, and comparisons after each call."""

from __future__ import annotations

from operator import attrgetter

from ape.utils import ZERO_ADDRESS

from bilateral.core.signatures import Domain
from tests.calls import Refused, answer, encoded
from tests.system.comparison import Comparison
from tests.system.functions import FUNCTIONS, signature_of
from tests.system.model import ETHER, SystemModel, require_no_ether


class World:
    """The registries beside their model.

    Attributes:
        chain: The registries and the people.
        tally: The number of accepted calls of each function, by `(registry, signature, "accepted")`, and of reverts, by
            the broken rule in place of "accepted".
        model: The model.
        everybody: The people's addresses.
        keys: The key that signs for each of them.
        ether: The ether that the next call sends.
    """

    def __init__(self, chain, tally):
        self.chain, self.tally = chain, tally
        self.snapshot = chain.snapshot()
        self.everybody = [person.address for person in chain.people]
        self.keys = {person.address: person.key for person in chain.people}
        key_addresses = {address: key.address for address, key in self.keys.items()}
        self.model = SystemModel(chain.id, key_addresses, chain.now)
        self.comparison = Comparison(chain, self.model, self.everybody)
        self.indexes, self.facts = {}, {}
        self.ether = 0
        self.is_checked = True

    def end(self):
        """Restore the chain."""
        self.chain.restore(self.snapshot)

    def invite(self, address, key):
        """One more account is asked about. `key` is what its signatures are recognised by in the model."""
        self.everybody.append(address)
        self.model.keys[address] = key
        self.something_happened()

    # Accounts

    def agent(self, pick):
        """Return an agent by its number, modulo the number of agents; 0: an unknown agent."""
        count = len(self.model.identity.agents)
        return (pick - 1) % count + 1 if pick and count else count + 1

    def account(self, who):
        return ZERO_ADDRESS if who is None else self.everybody[who]

    def in_role(self, who, agent_id):
        """Return the holder of a role for an agent, or the given account."""
        if who not in ("owner", "operator", "approved", "wallet"):
            return self.account(who)
        return [*self.players(who, agent_id), self.account(0)][0]

    def players(self, role, agent_id):
        """Return all holders of a role for an agent."""
        identity = self.model.identity
        if agent_id not in identity.agents:
            return []
        if role == "wallet":
            return [entry for entry in self.everybody if entry == identity.agents[agent_id].wallet]
        return [entry for entry in self.everybody if identity.role(entry, agent_id) == role]

    def client(self, who, agent_id):
        """Somebody who may not act for an agent, counted round and round; or whoever plays a role for it.

        Without a holder, the owner appoints an operator or approves an account.
        """
        outsiders = self.players(None, agent_id) or self.everybody
        if not isinstance(who, str):
            return outsiders[who % len(outsiders)]
        if not self.players(who, agent_id):
            owner = self.in_role("owner", agent_id)
            if who == "operator":
                self.call(owner, "identity", "setApprovalForAll", outsiders[0], True)
            if who == "approved":
                self.call(owner, "identity", "approve", outsiders[0], agent_id)
        return self.in_role(who, agent_id)

    def speaker(self, agent_id):
        """Whoever speaks as an agent."""
        speakers = [entry for entry in self.everybody if self.model.identity.primary.get(entry) == agent_id]
        return [*speakers, self.account(0)][0]

    # Calls

    def call(self, caller, registry, name, *arguments, as_modelled=None):
        """Call a registry: it must return what the model does, or revert with the same data.

        Returns:
            Whether it was accepted.
        """
        self.check()
        signature, target = signature_of(registry, name), self.chain.addresses[registry]
        data, value, self.ether = encoded(signature, *arguments), self.ether, 0
        actual = self.chain.call(caller, target, data, value)
        function = FUNCTIONS[registry][signature]
        try:
            require_no_ether(signature, value)
            returned = attrgetter(function.method)(self.model)(caller, *(as_modelled or arguments))
        except Refused as refused:
            self.tally[registry, signature, refused.rule] += 1
            assert actual == ("error", refused.data), (registry, signature, refused)
            assert refused.rule in (*function.refusals, ETHER), (registry, signature, refused.rule)
            return False
        self.tally[registry, signature, "accepted"] += 1
        assert actual == ("result", b"" if returned is None else answer("uint256", int(returned))), (
            registry,
            signature,
        )
        assert self.chain.send(caller, target, data)["status"] == "0x1"
        self.is_checked = False
        self.comparison.expect_change_of(registry)
        return True

    def something_happened(self):
        """The chain has changed otherwise than by `call`."""
        self.is_checked = False
        self.comparison.expect_anything()

    def give(self, client, agent_id, *call, as_modelled=None):
        """Make a call that gives a client's feedback, which only those may do who cannot act for the agent."""
        if self.call(*call, as_modelled=as_modelled):
            question = encoded("isAuthorizedOrOwner(address,uint256)", client, agent_id)
            may_act = self.chain.call(client, self.chain.addresses["identity"], question)
            assert may_act == ("result", answer("bool", False))

    def domain(self, registry):
        return Domain(self.chain.id, self.chain.addresses[registry])

    def sign(self, message, registry, who):
        """The signature of a message by somebody's key."""
        return bytes(self.keys[who].sign_message(message.signable(self.domain(registry))).signature)

    # Comparisons

    def check(self):
        """Compare everything, whenever there is a new block: without one nothing can have changed."""
        if not self.is_checked:
            self.comparison.compare()
            self.what_is_recorded_for_ever_stays_as_it_is()
            self.indexes_never_fall()
            self.no_agent_has_a_rating_of_itself()
        self.is_checked = True

    def what_is_recorded_for_ever_stays_as_it_is(self):
        before, self.facts = self.facts, self.model.facts()
        assert all(self.facts.get(key) == fact for key, fact in before.items())

    def indexes_never_fall(self):
        before, self.indexes = self.indexes, self.model.indexes(self.everybody)
        assert all(self.indexes[key] >= index for key, index in before.items())

    def no_agent_has_a_rating_of_itself(self):
        for rating in self.model.ratings.given.values():
            assert all(server != subject for server, subject in rating)
