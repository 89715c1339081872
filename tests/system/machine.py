"""Random sequences of valid and invalid calls to all registries."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from ape.utils import ZERO_ADDRESS
from eth_utils import keccak
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from bilateral.core.signatures import AgentWalletSet, Feedback, FeedbackAuth, encode_feedback_auth
from tests.calls import types_of
from tests.system.faults import FAULTS
from tests.system.questions import DOMAINS, KEYS, REQUEST_HASHES, TAGS, WORD_TAGS
from tests.system.world import World

if TYPE_CHECKING:
    from collections import Counter

    from tests.system.rpc_chain import Chain

MOST_AGENTS = 5
PEOPLE = range(6)
"""Five plain accounts and a contract wallet."""

REGISTRATIONS = ["register()", "register(string)", "register(string,(string,bytes)[])"]
TRANSFERS = [
    "transferFrom(address,address,uint256)",
    "safeTransferFrom(address,address,uint256)",
    "safeTransferFrom(address,address,uint256,bytes)",
]

URIS = ["ipfs://short", "ipfs://another", "https://agent.example/" + "long" * 20, ""]
FILE_HASH = keccak(text="a file")
NEVER = 2**256 - 1

people = st.sampled_from(PEOPLE)
people_or_nobody = st.sampled_from([*PEOPLE, *PEOPLE, None])
agents = st.sampled_from([0, *range(20)])
clients = st.sampled_from([*range(9), "owner", "operator", "approved"])
"""The number of an account that may not act for the agent, or a role whose holder calls."""

picks = st.sampled_from([0, 0, *range(20)])
"""The number of an existing item, modulo the number of items; 0: an unknown item."""

callers = st.sampled_from(["owner"] * 8 + ["operator", "approved", "wallet", *PEOPLE])
"""A role whose holder calls, or any account."""

seldom = st.sampled_from([None] * 9 + [*PEOPLE[:3]])
"""None for the correct account, nine times out of twelve; else any account."""

registries = st.sampled_from(["open", "open", "plain"])
tags = st.sampled_from(TAGS)
word_tags = st.tuples(st.sampled_from(WORD_TAGS), st.sampled_from(WORD_TAGS))
ratings = st.sampled_from([0, 1, 35, 50, 60, 73, 80, 87, 92, 99, 100, 100, 101, 255])
delays = st.sampled_from([60, 60, 60, 60, 60, 0, 300, 301, -1])
"""Seconds until a signature's deadline."""

values = st.sampled_from([87, 0, 100, 560, -5, 9977, -32, 1, 10**20, -(10**20), 10**38, -(10**38), 10**38 + 1])
decimals = st.sampled_from([0, 0, 0, 2, 2, 1, 18, 18, 6, 19])
given_feedback = st.tuples(values, decimals, tags, tags, tags, st.sampled_from(URIS), st.just(FILE_HASH))
"""The arguments of `giveFeedback` after the agent."""


class SystemMachine(World, RuleBasedStateMachine):
    """Agents, feedback, ratings, validations and time.

    Attributes:
        chain: The registries and the people.
        tally: The counts of a `World`, and the number of steps.
    """

    chain: ClassVar[Chain]
    tally: ClassVar[Counter]

    def __init__(self):
        RuleBasedStateMachine.__init__(self)
        World.__init__(self, self.chain, self.tally)
        self.authorisations, self.signed_feedback = [], []
        self.steps = 0

    def teardown(self):
        self.end()

    @invariant()
    def all_is_well(self):
        self.steps += 1
        self.tally["steps"] += 1
        self.check()

    # Agents

    @initialize(first=people, tags=word_tags, ether=st.integers(0, 1))
    def begin_with_a_little_of_everything(self, first, tags, ether):
        """Agents of three owners, the first perhaps only without ether, and something of each kind for an agent."""
        self.ether = ether
        owner, client, validator = (self.account((first + number) % len(PEOPLE)) for number in range(3))
        for who in (owner,) * (1 + ether) + (client, validator):
            self.call(who, "identity", "register()")
        for registry in "open", "plain":
            self.call(client, registry, "giveFeedback", 1, 87, 0, "", TAGS[1], "", URIS[0], FILE_HASH)
        self.authorise(1, 0, None, 1, NEVER, 87, tags, 1, None)
        self.call(owner, "validation", "validationRequest", validator, 1, URIS[0], REQUEST_HASHES[1])

    @rule(
        caller=people,
        signature=st.sampled_from(REGISTRATIONS),
        uri=st.sampled_from(URIS),
        keys=st.sampled_from([[], KEYS, [*KEYS, *KEYS], [*KEYS, "agentWallet"]]),
        ether=st.sampled_from([0, 0, 0, 0, 0, 1]),
    )
    def register(self, caller, signature, uri, keys, ether):
        """When there are enough agents, ether comes along or a reserved key."""
        self.ether = max(self.ether, ether)
        if len(self.model.identity.agents) >= MOST_AGENTS and not self.ether:
            signature, keys = REGISTRATIONS[-1], [*KEYS, "agentWallet"]
        arguments = [uri, tuple((key, b"value") for key in keys)][: len(types_of(signature))]
        self.call(self.account(caller), "identity", signature, *arguments)

    @precondition(lambda self: len(self.model.identity.agents) < MOST_AGENTS)
    @rule(
        caller=st.sampled_from(["newcomer"] * 9 + [*PEOPLE, None]),
        address=seldom,
        domain=st.sampled_from([*DOMAINS, *DOMAINS, ""]),
    )
    def new_agent(self, caller, address, domain):
        newcomers = [account for account in self.everybody if not self.model.identity.has_agent(account)]
        caller = [*newcomers, self.account(0)][0] if caller == "newcomer" else self.account(caller)
        self.call(caller, "identity", "newAgent", domain, caller if address is None else self.account(address))

    @rule(
        agent=agents,
        who=callers,
        domain=st.sampled_from([*DOMAINS, ""]),
        receiver=st.sampled_from([None] * 9 + [*PEOPLE]),
    )
    def update_agent(self, agent, who, domain, receiver):
        agent_id = self.agent(agent)
        caller = self.in_role(who, agent_id)
        self.call(caller, "identity", "updateAgent", agent_id, domain, self.account(receiver))

    @rule(agent=agents, who=callers)
    def release_agent_domain(self, agent, who):
        agent_id = self.agent(agent)
        self.call(self.in_role(who, agent_id), "identity", "releaseAgentDomain", agent_id)

    @rule(
        agent=agents,
        who=callers,
        sender=st.sampled_from(["owner"] * 12 + [*PEOPLE[:3]]),
        receiver=st.sampled_from([*PEOPLE, "owner", "wallet", None]),
        signature=st.sampled_from(TRANSFERS),
    )
    def transfer(self, agent, who, sender, receiver, signature):
        agent_id = self.agent(agent)
        caller, sender, receiver = (self.in_role(role, agent_id) for role in (who, sender, receiver))
        arguments = [sender, receiver, agent_id, b"for the receiver"][: len(types_of(signature))]
        self.call(caller, "identity", signature, *arguments)

    @rule(agent=agents, who=callers, account=people_or_nobody)
    def approve(self, agent, who, account):
        agent_id = self.agent(agent)
        self.call(self.in_role(who, agent_id), "identity", "approve", self.account(account), agent_id)

    @rule(caller=people, operator=people_or_nobody, is_approved=st.sampled_from([True, True, False]))
    def set_approval_for_all(self, caller, operator, is_approved):
        self.call(self.account(caller), "identity", "setApprovalForAll", self.account(operator), is_approved)

    @rule(agent=agents, who=callers, wallet=people_or_nobody, delay=delays, signer=seldom, speaks=st.booleans())
    def rotate_wallet(self, agent, who, wallet, delay, signer, speaks):
        """A new wallet consents, or somebody else does, and then perhaps speaks as the agent."""
        agent_id, wallet = self.agent(agent), self.account(wallet)
        owner = getattr(self.model.identity.agents.get(agent_id), "owner", ZERO_ADDRESS)
        signer = wallet if signer is None and wallet in self.keys else self.account(signer or 0)
        message = AgentWalletSet(agent_id, wallet, owner, self.model.now + delay)
        is_signed = self.model.keys[signer] == self.model.keys.get(wallet)
        self.call(
            self.in_role(who, agent_id),
            "identity",
            "setAgentWallet",
            agent_id,
            wallet,
            message.deadline,
            self.sign(message, "identity", signer),
            as_modelled=(agent_id, wallet, delay, is_signed),
        )
        if speaks and wallet in self.keys:
            self.call(wallet, "identity", "setPrimaryAgent", agent_id)

    @rule(agent=agents, who=callers)
    def unset_wallet(self, agent, who):
        agent_id = self.agent(agent)
        self.call(self.in_role(who, agent_id), "identity", "unsetAgentWallet", agent_id)

    @rule(agent=agents, who=callers)
    def choose_primary_agent(self, agent, who):
        agent_id = self.agent(agent)
        self.call(self.in_role(who, agent_id), "identity", "setPrimaryAgent", agent_id)

    @rule(
        agent=agents,
        who=callers,
        uri=st.sampled_from(URIS),
        key=st.sampled_from([None, None, *KEYS, *KEYS, "agentWallet"]),
    )
    def describe(self, agent, who, uri, key):
        agent_id = self.agent(agent)
        caller = self.in_role(who, agent_id)
        if key is None:
            self.call(caller, "identity", "setAgentURI", agent_id, uri)
        else:
            self.call(caller, "identity", "setMetadata", agent_id, key, uri.encode())

    # Open feedback

    @rule(registry=registries, agent=agents, client=clients, entry=given_feedback, times=st.sampled_from([1, 1, 1, 3]))
    def give_feedback(self, registry, agent, client, entry, times):
        agent_id = self.agent(agent)
        client = self.client(client, agent_id)
        for _ in range(times):
            self.give(client, agent_id, client, registry, "giveFeedback", agent_id, *entry)

    @rule(
        registry=registries,
        agent=agents,
        client=clients,
        sponsor=people,
        entry=given_feedback,
        ahead=st.sampled_from([1] * 12 + [0, 2]),
        delay=delays,
        signer=seldom,
    )
    def sponsor_feedback(self, registry, agent, client, sponsor, entry, ahead, delay, signer):
        """A client, or somebody else, signs the client's feedback, and a sponsor sends it."""
        agent_id = self.agent(agent)
        client = self.client(client, agent_id)
        index = getattr(self.model, registry).last_index(agent_id, client) + ahead
        message = Feedback(agent_id, client, index, *entry, deadline=self.model.now + delay)
        signer = client if signer is None else self.account(signer)
        call = (client, (agent_id, index, *entry), message.deadline, self.sign(message, registry, signer))
        self.signed_feedback.append((registry, call, self.model.keys[signer]))
        self.send_signed_feedback(self.account(sponsor), registry, call, self.model.keys[signer])

    @precondition(lambda self: self.signed_feedback)
    @rule(pick=picks, sponsor=people)
    def replay_sponsored_feedback(self, pick, sponsor):
        signed = self.signed_feedback[pick % len(self.signed_feedback)]
        self.send_signed_feedback(self.account(sponsor), *signed)

    def send_signed_feedback(self, sponsor, registry, call, signer):
        client, params, deadline, _ = call
        as_modelled = (client, params, deadline, signer)
        self.give(client, params[0], sponsor, registry, "giveFeedbackBySig", *call, as_modelled=as_modelled)

    @rule(registry=registries, client=people, delay=st.sampled_from([0, 30, 59, 60, 61, -1]))
    def void_signatures(self, registry, client, delay):
        """A client voids what it signed with a deadline up to some seconds from now, and again what is voided."""
        deadline = self.model.now + delay
        self.call(self.account(client), registry, "voidSignaturesThrough", deadline)
        self.call(self.account(client), registry, "voidSignaturesThrough", deadline)

    @rule(registry=registries, pick=picks, caller=seldom, agent=agents, index=st.integers(0, 3))
    def revoke(self, registry, pick, caller, agent, index):
        """Somebody revokes something, which may be revoked already."""
        agent_id, client, index = self.any_feedback(registry, pick) or (self.agent(agent), self.account(0), index)
        caller = client if caller is None else self.account(caller)
        self.call(caller, registry, "revokeFeedback", agent_id, index)

    @rule(
        registry=registries,
        pick=picks,
        responder=people,
        agent=agents,
        index=st.integers(0, 3),
        uri=st.sampled_from(URIS),
    )
    def respond(self, registry, pick, responder, agent, index, uri):
        agent_id, client, index = self.any_feedback(registry, pick) or (self.agent(agent), self.account(0), index)
        self.call(self.account(responder), registry, "appendResponse", agent_id, client, index, uri, FILE_HASH)

    def any_feedback(self, registry, pick):
        everything = getattr(self.model, registry).everything()
        return everything[pick % len(everything)] if pick and everything else None

    # Ratings

    @rule(
        server=agents,
        who=callers,
        subject=agents,
        rating=ratings,
        kind=st.sampled_from(["client", "validator"]),
        again=st.sampled_from([None] * 6 + [0, 1, 2]),
    )
    def rate(self, server, who, subject, rating, kind, again):
        """A server rates an agent, or once more one that it has rated."""
        pairs = list(self.model.ratings.given[kind])
        if again is None or not pairs:
            caller, subject = self.in_role(who, self.agent(server)), self.agent(subject)
        else:
            server, subject = pairs[again % len(pairs)]
            caller = self.speaker(server)
        self.call(caller, "open", "rateClient" if kind == "client" else "rateValidator", subject, rating)

    @rule(
        server=agents,
        who=callers,
        subjects=st.lists(agents, min_size=1, max_size=3),
        scores=st.lists(ratings, min_size=3, max_size=3),
        missing=st.sampled_from([None] * 12 + ["agents", "rating"]),
        name=st.sampled_from(["rateClients", "rateValidators"]),
    )
    def rate_batch(self, server, who, subjects, scores, missing, name):
        subjects = () if missing == "agents" else tuple(map(self.agent, subjects))
        scores = tuple(scores[: len(subjects) - (missing == "rating")])
        self.call(self.in_role(who, self.agent(server)), "open", name, subjects, scores)

    @rule(
        server=agents,
        who=callers,
        subjects=st.lists(agents, min_size=1, max_size=3),
        scores=st.lists(ratings, min_size=3, max_size=3),
        fault=st.sampled_from([None] * 8 + ["server", "owner", "missing owner", "no elements"]),
        name=st.sampled_from(["rateClientAs", "rateValidatorAs", "rateClientsAs", "rateValidatorsAs"]),
    )
    def rate_as_expected(self, server, who, subjects, scores, fault, name):
        """A server rates agents of owners that it names, perhaps wrongly."""
        caller = self.in_role(who, self.agent(server))
        subjects = () if fault == "no elements" else tuple(map(self.agent, subjects))
        server_id = (self.model.identity.primary.get(caller) or 0) + (fault == "server")
        owners = [self.in_role("owner", subject) for subject in subjects]
        if fault == "owner":
            owners[-1] = ZERO_ADDRESS
        scores = tuple(scores[: len(subjects)])
        if name.endswith("sAs"):
            owners = tuple(owners[: len(owners) - (fault == "missing owner")])
            self.call(caller, "open", name, subjects, scores, server_id, owners)
        elif subjects:
            self.call(caller, "open", name, subjects[0], scores[0], server_id, owners[0])

    @rule(client=agents, server=agents, who=callers)
    def accept_feedback(self, client, server, who):
        server_id = self.agent(server)
        self.call(self.in_role(who, server_id), "open", "acceptFeedback", self.agent(client), server_id)

    # Authorised feedback

    @rule(
        agent=agents,
        client=clients,
        signer=seldom,
        more=st.sampled_from([1, 2, 3, 6, 0]),
        delay=st.sampled_from([NEVER, NEVER, NEVER, 60, 60, 0, -1]),
        score=ratings,
        tags=word_tags,
        times=st.integers(1, 6),
        fault=st.sampled_from([None] * 12 + FAULTS),
    )
    def authorise(self, agent, client, signer, more, delay, score, tags, times, fault):
        """The owner, or somebody else, lets a client give more feedback, and the client does, perhaps too often."""
        agent_id = self.agent(agent)
        client = self.client(client, agent_id)
        limit = self.model.authorised.last_index(agent_id, client) + more
        auth = FeedbackAuth(agent_id, client, limit, min(self.model.now + delay, NEVER), self.chain.id)
        signer = self.in_role("owner", agent_id) if signer is None else self.account(signer)
        signed = (auth, encode_feedback_auth(auth, self.sign(auth, "authorised", signer)), self.model.keys[signer])
        if fault:  # which the client tries first, when nothing else stands against it
            self.use((auth, fault(signed[1]), None), client, agent_id, score, tags)
        self.authorisations.append(signed)
        for _ in range(times):
            self.use(signed, client, agent_id, score, tags)

    @precondition(lambda self: self.authorisations)
    @rule(pick=picks, client=seldom, agent=st.sampled_from([None] * 9 + [0, 1, 2]), score=ratings, tags=word_tags)
    def use_an_authorisation_again(self, pick, client, agent, score, tags):
        signed = self.authorisations[pick % len(self.authorisations)]
        client = signed[0].client_address if client is None else self.account(client)
        self.use(signed, client, signed[0].agent_id if agent is None else self.agent(agent), score, tags)

    def use(self, signed, client, agent_id, score, tags):
        auth, feedback_auth, signer = signed
        call = (agent_id, score, *tags)
        as_modelled = (*call, feedback_auth, signer, auth.digest(self.domain("authorised")))
        arguments = (*call, URIS[0], FILE_HASH, feedback_auth)
        self.give(client, agent_id, client, "authorised", "giveFeedback", *arguments, as_modelled=as_modelled)

    # Validations

    @rule(agent=agents, who=callers, validator=people_or_nobody, request_hash=st.sampled_from(REQUEST_HASHES))
    def request_validation(self, agent, who, validator, request_hash):
        agent_id, validator = self.agent(agent), self.account(validator)
        caller = self.in_role(who, agent_id)
        self.call(caller, "validation", "validationRequest", validator, agent_id, URIS[0], request_hash)

    @rule(pick=picks, request_hash=st.sampled_from(REQUEST_HASHES), caller=seldom, response=ratings, tag=tags)
    def respond_to_validation(self, pick, request_hash, caller, response, tag):
        requests = self.model.validation.records.requests
        request_hash = list(requests)[pick % len(requests)] if pick and requests else request_hash
        validator = getattr(requests.get(request_hash), "validator", self.account(0))
        caller = validator if caller is None else self.account(caller)
        self.call(caller, "validation", "validationResponse", request_hash, response, URIS[0], FILE_HASH, tag)

    # Time and ether

    @rule(seconds=st.sampled_from([1, 60, 300, 86_400]))
    def wait(self, seconds):
        self.model.now += seconds
        self.chain.wait(self.model.now)
        self.is_checked = False

    @rule()
    def enclose_ether_with_the_next_call(self):
        self.ether = 1
