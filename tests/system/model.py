"""All registries together in plain Python: who may call what, what it changes, and what it is refused with.

The models of the single registries keep the records; here is what ties them to each other and to time. A method that
takes a caller stands for a function of a registry, and refuses a call by `Refused`.
"""

from __future__ import annotations

from eth_utils import to_checksum_address

from tests.authorized.helpers import CURVE_ORDER, FIELDS_LENGTH
from tests.authorized.model import Model as AuthorizedModel
from tests.calls import Refused, encoded, require
from tests.identity.model import IdentityModel
from tests.reputation.model import MAX_ABS_VALUE, Given, ReputationModel
from tests.validation.model import RefusedError, UnknownAgentError, ValidationModel

PAYABLE = {"approve", "transferFrom", "safeTransferFrom"}
"""Functions that ERC-721 lets take ether."""

ETHER = "ether"
"""The rule that no function takes ether."""


class SystemModel:
    """The state of all registries.

    Attributes:
        chain_id: The chain's id.
        keys: The address of the key that signs for each account: a plain account's own, or a contract wallet's.
        now: The time of the last block, which is that of the next call, too.
        identity: All agents.
        open: Open and sponsored feedback in the flagship registry.
        plain: The same in the registry without ratings.
        ratings: The ratings by servers and their authorisations, in the flagship registry.
        authorised: Authorised feedback.
        validation: Requests and responses.
    """

    def __init__(self, chain_id, keys, now):
        self.chain_id, self.keys, self.now = chain_id, keys, now
        self.identity = IdentityModel()
        self.open, self.plain = OpenFeedback(self), OpenFeedback(self)
        self.ratings = Ratings(self)
        self.authorised = AuthorisedFeedback(self)
        self.validation = Validations(self)

    def facts(self):
        """All that is recorded for ever: by what is said, what it says."""
        facts = {}
        for name in ("open", "plain"):
            for agent_id, histories in getattr(self, name).records.histories.items():
                for client, entries in histories.items():
                    for index, entry in enumerate(entries, 1):
                        facts[name, agent_id, client, index] = entry.given
                        if entry.revoked:
                            facts[name, agent_id, client, index, "revoked"] = True
        for kind, ratings in self.ratings.given.items():
            facts |= {(kind, *pair): rating for pair, rating in ratings.items()}
        facts |= {("accepted", *pair): True for pair in self.ratings.accepted}
        for agent_id, records in self.authorised.records.feedback.items():
            facts |= {("authorised", agent_id, position): record for position, record in enumerate(records)}
        for request_hash, request in self.validation.records.requests.items():
            facts["request", request_hash] = (request.validator, request.agent_id)
        return facts

    def indexes(self, accounts):
        """Return the counts that never fall: agents, and the feedback of each account for each agent, by registry."""
        indexes = {"agents": len(self.identity.agents)}
        for name in ("open", "plain", "authorised"):
            last_index = getattr(self, name).last_index
            for agent_id in self.identity.agents:
                indexes |= {(name, agent_id, account): last_index(agent_id, account) for account in accounts}
        return indexes


class OpenFeedback:
    """`giveFeedback` and what belongs to it, of ERC-8004 (January 2026)."""

    def __init__(self, system):
        self.system, self.records, self.voided = system, ReputationModel(), {}

    def give(self, caller, agent_id, *arguments):
        entry, identity = Given(*arguments), self.system.identity
        require(entry.decimals <= 18, "too many decimals")
        require(abs(entry.value) <= MAX_ABS_VALUE, "value too large")
        identity.existing(agent_id)
        role = identity.role(caller, agent_id)
        require(role is None, "Self-feedback not allowed", circumstances=role)
        self.records.give(agent_id, caller, entry)

    def give_by_sig(self, _caller, client, params, deadline, signer):
        """`signer`: the address of the key that signed just this."""
        agent_id, index, *rest = params
        expected, now = self.last_index(agent_id, client) + 1, self.system.now
        require(now <= deadline, "SignatureExpired(uint256,uint256)", deadline, now)
        voided = self.voided.get(client, 0)
        require(deadline > voided, "SignatureVoided(uint256,uint256)", deadline, voided)
        require(index == expected, "UnexpectedFeedbackIndex(uint64,uint64)", index, expected)
        require(signer == self.system.keys[client], "InvalidSignature(address)", client)
        self.give(client, agent_id, *rest)

    def void_signatures_through(self, caller, deadline):
        voided = self.voided.get(caller, 0)
        require(deadline > voided, "DeadlineAlreadyVoided(uint256,uint256)", deadline, voided)
        self.voided[caller] = deadline

    def revoke(self, caller, agent_id, index):
        require(index > 0, "index must be > 0")
        entry = self.entry(agent_id, caller, index)
        require(not entry.revoked, "Already revoked")
        entry.revoked = True

    def respond(self, caller, agent_id, client, index, uri, _response_hash):
        require(index > 0, "index must be > 0")
        require(uri, "Empty URI")
        self.entry(agent_id, client, index).responses[caller] += 1

    def entry(self, agent_id, client, index):
        require(index <= self.last_index(agent_id, client), "index out of bounds")
        return self.records.entries(agent_id, client)[index - 1]

    def last_index(self, agent_id, client):
        return len(self.records.entries(agent_id, client))

    def everything(self):
        """`(agent, client, index)` of all feedback."""
        return [
            (agent_id, client, index)
            for agent_id, histories in self.records.histories.items()
            for client, entries in histories.items()
            for index in range(1, len(entries) + 1)
        ]


class Ratings:
    """The ratings of EIP-8004a, `acceptFeedback` of August 2025.

    Attributes:
        given: The ratings, by `"client"` or `"validator"` and then by `(server, subject)`.
        accepted: `(client, server)` of every `acceptFeedback`.
    """

    def __init__(self, system):
        self.system = system
        self.given = {"client": {}, "validator": {}}
        self.accepted = set()

    def rate_client(self, caller, subject, rating):
        self._rate("client", self._rater(caller), subject, rating)

    def rate_validator(self, caller, subject, rating):
        self._rate("validator", self._rater(caller), subject, rating)

    def rate_clients(self, caller, subjects, ratings):
        self._rate_all("client", caller, subjects, ratings)

    def rate_validators(self, caller, subjects, ratings):
        self._rate_all("validator", caller, subjects, ratings)

    def rate_client_as(self, caller, subject, rating, server, owner):
        self._require_expected(caller, server, [subject], [owner])
        self.rate_client(caller, subject, rating)

    def rate_validator_as(self, caller, subject, rating, server, owner):
        self._require_expected(caller, server, [subject], [owner])
        self.rate_validator(caller, subject, rating)

    def rate_clients_as(self, caller, subjects, ratings, server, owners):
        self._require_expected(caller, server, subjects, owners)
        self.rate_clients(caller, subjects, ratings)

    def rate_validators_as(self, caller, subjects, ratings, server, owners):
        self._require_expected(caller, server, subjects, owners)
        self.rate_validators(caller, subjects, ratings)

    def accept_feedback(self, caller, client, server):
        agents = self.system.identity.agents
        require(client in agents and server in agents, "AgentNotFound()")
        require(caller in (agents[server].owner, agents[server].wallet), "UnauthorizedFeedback()")
        require(client != server, "SelfFeedbackNotAllowed()")
        require((client, server) not in self.accepted, "FeedbackAlreadyAuthorized()")
        self.accepted.add((client, server))

    def _require_expected(self, caller, server, subjects, owners):
        identity = self.system.identity
        number = identity.primary.get(caller) or 0
        require(number == server, "UnexpectedRater(uint256,uint256)", server, number)
        require(len(subjects) == len(owners), "UnequalBatch(uint256,uint256)", len(subjects), len(owners))
        for subject, owner in zip(subjects, owners, strict=True):
            present = identity.existing(subject).owner
            require(present == owner, "UnexpectedOwner(uint256,address,address)", subject, owner, present)

    def _rate_all(self, kind, caller, subjects, ratings):
        require(subjects, "EmptyBatch()")
        require(len(subjects) == len(ratings), "UnequalBatch(uint256,uint256)", len(subjects), len(ratings))
        server, before = self._rater(caller), dict(self.given[kind])
        for position, (subject, rating) in enumerate(zip(subjects, ratings, strict=True)):
            try:
                self._rate(kind, server, subject, rating)
            except Refused as refused:
                self.given[kind] = before
                raise Refused(
                    "RatingRefused(uint256,bytes)", position, refused.data, circumstances=refused.rule
                ) from refused

    def _rater(self, caller):
        server = self.system.identity.primary.get(caller)
        require(server, "RaterNotRegistered(address)", caller)
        return server

    def _rate(self, kind, server, subject, rating):
        ratings = self.given[kind]
        require(subject in self.system.identity.agents, "SubjectNotRegistered(uint256)", subject)
        require(rating <= 100, "RatingTooHigh(uint8,uint8)", rating, 100)
        require(subject != server, "CannotRateSelf()")
        require((server, subject) not in ratings, "AlreadyRated(uint256,uint256)", subject, server)
        ratings[server, subject] = rating


class AuthorisedFeedback:
    """`giveFeedback` under a `feedbackAuth`."""

    def __init__(self, system):
        self.system, self.records = system, AuthorizedModel(system.chain_id, {})

    def give(self, caller, agent_id, score, tag1, tag2, feedback_auth, signer, digest):
        """`signer`: the address of the key that signed `digest`, which is that of the fields; None: there is none."""
        system, last = self.system, self.last_index(agent_id, caller)
        fields, signature = feedback_auth[:FIELDS_LENGTH], feedback_auth[FIELDS_LENGTH:]
        require(score <= 100, "ScoreTooHigh(uint8,uint8)", score, 100)
        is_whole = len(fields) == FIELDS_LENGTH
        require(is_whole, "FeedbackAuthTooShort(uint256,uint256)", len(fields), FIELDS_LENGTH)
        authorised_id, client, limit, expiry, chain_id = (word(fields, number) for number in range(5))
        require(client < 2**160, "ClientAddressOutOfRange(uint256)", client)
        require(limit < 2**64, "IndexLimitOutOfRange(uint256)", limit)
        for asked, authorised, refusal in (
            (agent_id, authorised_id, "AgentNotAuthorized(uint256,uint256)"),
            (caller, to_checksum_address(client.to_bytes(20)), "ClientNotAuthorized(address,address)"),
            (system.chain_id, chain_id, "ChainNotAuthorized(uint256,uint256)"),
        ):
            require(asked == authorised, refusal, asked, authorised)
        require(system.now <= expiry, "FeedbackAuthExpired(uint256,uint256)", expiry, system.now)
        require(last < limit, "IndexLimitReached(uint64,uint64)", last, limit)
        owner = system.identity.existing(agent_id).owner
        role = system.identity.role(caller, agent_id)
        require(role is None, "SelfFeedbackNotAllowed(uint256,address)", agent_id, caller, circumstances=role)
        self._require_signature(owner, signature, signer, digest)
        record = {
            "position": len(self.records.feedback[agent_id]),
            "clientAddress": caller,
            "score": score,
            "tag1": tag1,
            "tag2": tag2,
            "timestamp": system.now,
        }
        self.records.give(agent_id, record)

    def last_index(self, agent_id, client):
        return self.records.last_index(agent_id, client)

    def _require_signature(self, owner, signature, signer, digest):
        key = self.system.keys[owner]
        if key != owner:
            require(signer == key, "SignatureRefused(address,bytes32)", owner, digest)
            return
        require(len(signature) == 65, "SignatureLengthInvalid(uint256,uint256)", len(signature), 65)
        require(word(signature, 1) <= CURVE_ORDER // 2, "SignatureMalleable(bytes32)", signature[32:64])
        require(signer, "SignatureUnrecoverable(bytes32)", digest)
        require(signer == owner, "SignerNotOwner(address,address)", signer, owner)


class Validations:
    """Requests to validators, and their responses."""

    def __init__(self, system):
        self.system, self.records = system, _ValidationRecords(system.identity)

    def request(self, caller, validator, agent_id, _uri, request_hash):
        _translated(self.records.check_request, caller, validator, agent_id, request_hash)
        self.records.request(validator, agent_id, request_hash, self.system.now)

    def respond(self, caller, request_hash, response, _uri, response_hash, tag):
        _translated(self.records.check_response, caller, request_hash, response)
        self.records.respond(request_hash, response, response_hash, tag, self.system.now)

    def status(self, request_hash):
        return _translated(self.records.status, request_hash)


class _ValidationRecords(ValidationModel):
    """Asks the identity model who may act for an agent."""

    def __init__(self, identity):
        super().__init__(owners=identity.agents)
        self.identity = identity

    def may_act_for(self, agent_id, account):
        return self.identity.may_act(account, agent_id)


def _translated(function, *arguments):
    """Call a function of the validation model, and translate its reverts to `Refused`."""
    try:
        return function(*arguments)
    except RefusedError as refused:
        raise Refused("Error(string)", refused.reason) from refused
    except UnknownAgentError as refused:
        raise Refused("ERC721NonexistentToken(uint256)", refused.agent_id) from refused


def require_no_ether(signature, value):
    """Refuse ether as the registries do."""
    if value:
        raise EtherRefused(signature, value)


class EtherRefused(Refused):
    """A function got ether: it refuses it by name if it is payable, or else reverts with nothing."""

    def __init__(self, signature, value):
        Exception.__init__(self, signature, value)
        is_payable = signature.partition("(")[0] in PAYABLE
        self.data = encoded("EtherNotAccepted(uint256)", value) if is_payable else b""
        self.rule = ETHER


def word(data, number):
    """One of the numbers of 32 bytes that stand in some data."""
    return int.from_bytes(data[32 * number : 32 * (number + 1)])
