"""The validation registry in plain Python, as ERC-8004 and the deployed registry specify it."""

from __future__ import annotations

from dataclasses import dataclass, field

ZERO_ADDRESS = "0x" + "00" * 20
ZERO_HASH = bytes(32)


class RefusedError(Exception):
    """A revert of the registry with a reason."""

    @property
    def reason(self):
        return self.args[0]


class UnknownAgentError(Exception):
    """A revert because the identity registry has no agent with this id."""

    @property
    def agent_id(self):
        return self.args[0]


@dataclass
class Request:
    """A request and its last response. The response is None before the first."""

    validator: str
    agent_id: int
    last_update: int
    response: int | None = None
    response_hash: bytes = ZERO_HASH
    tag: str = ""


@dataclass
class ValidationModel:
    """The registry, and the part of the identity registry that it uses.

    Attributes:
        owners: The owner of each agent.
        operators: Pairs of an owner and its operator.
        approved: The approved address of each agent.
        requests: The requests by hash, in order.
    """

    owners: dict[int, str]
    operators: set[tuple[str, str]] = field(default_factory=set)
    approved: dict[int, str] = field(default_factory=dict)
    requests: dict[bytes, Request] = field(default_factory=dict)

    def transfer(self, agent_id, to):
        self.owners[agent_id] = to
        self.approved.pop(agent_id, None)

    def may_act_for(self, agent_id, account):
        owner = self.owners[agent_id]
        return account in (owner, self.approved.get(agent_id)) or (owner, account) in self.operators

    def check_request(self, sender, validator, agent_id, request_hash):
        if validator == ZERO_ADDRESS:
            raise RefusedError("bad validator")
        if request_hash in self.requests:
            raise RefusedError("exists")
        if agent_id not in self.owners:
            raise UnknownAgentError(agent_id)
        if not self.may_act_for(agent_id, sender):
            raise RefusedError("Not authorized")

    def request(self, validator, agent_id, request_hash, now):
        self.requests[request_hash] = Request(validator, agent_id, now)

    def find(self, request_hash):
        if request_hash not in self.requests:
            raise RefusedError("unknown")
        return self.requests[request_hash]

    def check_response(self, sender, request_hash, response):
        if sender != self.find(request_hash).validator:
            raise RefusedError("not validator")
        if response > 100:
            raise RefusedError("resp>100")

    def respond(self, request_hash, response, response_hash, tag, now):
        request = self.requests[request_hash]
        request.response, request.response_hash, request.tag = response, response_hash, tag
        request.last_update = now

    def status(self, request_hash):
        request = self.find(request_hash)
        return {
            "validatorAddress": request.validator,
            "agentId": request.agent_id,
            "response": request.response or 0,
            "responseHash": request.response_hash,
            "tag": request.tag,
            "lastUpdate": request.last_update,
        }

    def summary(self, agent_id, validators, tag):
        counted = [
            request.response
            for request in self.requests.values()
            if request.agent_id == agent_id
            and request.response is not None
            and (not validators or request.validator in validators)
            and tag in ("", request.tag)
        ]
        return (len(counted), sum(counted) // len(counted)) if counted else (0, 0)

    def agent_validations(self, agent_id):
        return [name for name, request in self.requests.items() if request.agent_id == agent_id]

    def validator_requests(self, validator):
        return [name for name, request in self.requests.items() if request.validator == validator]
