"""Gas cases of identity, authorised feedback and validation, and of the companion directory."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import ape
from ape.api import AccountAPI
from ape.types import AddressType
from eth_account import Account
from eth_utils.crypto import keccak

from bench.measurement import GasCase, World, execution_gas
from bilateral.core.signatures import Domain, FeedbackAuth, sign_feedback_auth
from scripts._stand_ins import deploy_behind_proxy

URI = "https://agent.example.com/.well-known/agent-card.json"
"""An agent URI of 53 characters, as those of the references' figures."""

METADATA = [("agentName", b"alice"), ("category", b"defi-trading")]


def _register_some(world: World, account: AccountAPI, count: int) -> None:
    for _ in range(count):
        world.identity.register(sender=account)


def _register(world: World, *arguments: object, earlier: int) -> Any:
    _register_some(world, world.owner, earlier)
    return world.identity.register(*arguments, sender=world.owner)


def _set_agent_uri(world: World) -> Any:
    world.identity.register(URI, sender=world.owner)
    return world.identity.setAgentURI(1, URI[::-1], sender=world.owner)


def _set_metadata(world: World) -> Any:
    _register_some(world, world.owner, 1)
    return world.identity.setMetadata(1, "category", b"defi", sender=world.owner)


def _transfer(world: World) -> Any:
    _register_some(world, world.owner, 2)
    # The first of the two is the primary agent, which makes it the dearer one to give away.
    return world.identity.transferFrom(world.owner, world.receiver, 1, sender=world.owner)


def _new_agent(world: World) -> Any:
    return world.identity.newAgent("agent.example", world.owner, sender=world.owner)


def _resolve_by_address(world: World) -> Any:
    world.identity.newAgent("agent.example", world.owner, sender=world.owner)
    return execution_gas(world.identity.resolveByAddress, world.owner)


def _agent_of(world: World) -> Any:
    _register_some(world, world.owner, 1)
    return execution_gas(world.identity.agentOf, world.owner)


IDENTITY_CASES = [
    GasCase("register(), fresh account", 79_500, lambda w: _register(w, earlier=0), 106_883, 100_434),
    GasCase("register(), its second", 62_000, lambda w: _register(w, earlier=1), 89_783, 83_334),
    GasCase("register(uri), fresh account", 128_000, lambda w: _register(w, URI, earlier=0), 177_852, 170_255),
    GasCase("register(uri), its second", 111_000, lambda w: _register(w, URI, earlier=1), 160_752, 153_155),
    GasCase(
        "register(uri, 2 entries), second", 168_000, lambda w: _register(w, URI, METADATA, earlier=1), 220_505, 213_603
    ),
    GasCase("setAgentURI, as many words", 46_000, _set_agent_uri, 72_662, 67_105),
    GasCase("setMetadata, new key", 52_000, _set_metadata, 57_480, 52_213),
    GasCase("transferFrom to a fresh account", 62_500, _transfer, 68_292, 60_333),
    GasCase("newAgent", 135_000, _new_agent, None, 149_475),
    GasCase("resolveByAddress, execution", 9_000, _resolve_by_address, None, 9_876),
    GasCase("agentOf, execution", 3_000, _agent_of),
]
"""The identity registry's calls."""


FILE_URI = "ipfs://bafkreidwr2bd5pvbvoesdzgpcsjhmcmvtkvm4yxyrr5yl"
"""A URI of 53 characters, as that of the reference's figures."""

FILE_HASH = bytes(range(200, 232))
TAGS = (b"quality".ljust(32, b"\0"), b"speed".ljust(32, b"\0"))
NO_TAGS = (bytes(32), bytes(32))

AGENT_ID = 1
UNRATED_AGENT_ID = 2

EXPIRY = 4_102_444_800
"""The year 2100. A time that does not pass makes the same signature, and so the same gas, each time."""

BATCH = 200
"""Feedbacks that fit into one transaction of a client that repeats itself."""


def feedback_arguments(
    world: World, client: AddressType, limit: int, agent_id: int = AGENT_ID, tags: tuple[bytes, bytes] = TAGS
) -> tuple[Any, ...]:
    """Arguments of `giveFeedback`, authorised by the agent's owner up to an index limit."""
    chain_id = ape.chain.chain_id
    auth = FeedbackAuth(agent_id, client, limit, EXPIRY, chain_id)
    owner = Account.from_key(world.owner.private_key)
    feedback_auth = sign_feedback_auth(auth, Domain(chain_id, world.authorized.address), owner)
    return agent_id, 92, *tags, FILE_URI, FILE_HASH, feedback_auth


def _prepare(world: World) -> None:
    """Register two agents, the first of which has feedback from another client, with the usual tags."""
    for _ in (AGENT_ID, UNRATED_AGENT_ID):
        world.identity.register(sender=world.owner)
    other = world.other_client
    world.authorized.giveFeedback(*feedback_arguments(world, other.address, 1), sender=other)


def _give_feedback(world: World, nth: int = 1, agent_id: int = AGENT_ID, tags: tuple[bytes, bytes] = TAGS) -> Any:
    _prepare(world)
    client = world.client
    for _ in range(nth - 1):
        world.authorized.giveFeedback(*feedback_arguments(world, client.address, nth), sender=client)
    arguments = feedback_arguments(world, client.address, nth, agent_id, tags)
    return world.authorized.giveFeedback(*arguments, sender=client)


def _give_much_feedback(world: World, count: int) -> Any:
    """Let one client, a contract, rate the agent many times."""
    world.identity.register(sender=world.owner)
    client = world.deployer.deploy(ape.project.MockRegularClient)
    data = world.authorized.giveFeedback.encode_input(*feedback_arguments(world, client.address, count))
    for done in range(0, count, BATCH):
        client.repeatCall(world.authorized, data, min(BATCH, count - done), sender=world.client)
    return client


def _get_summary(world: World, count: int) -> Any:
    _give_much_feedback(world, count)
    return execution_gas(world.authorized.getSummary, AGENT_ID)


def _get_feedback(world: World) -> Any:
    _prepare(world)
    return execution_gas(world.authorized.getFeedback, AGENT_ID, 0)


def _get_client_feedback_page(world: World) -> Any:
    client = _give_much_feedback(world, 10)
    return execution_gas(world.authorized.getClientFeedbackPage, AGENT_ID, client, 0, 10)


AUTHORIZED_CASES = [
    GasCase("giveFeedback, a client's first", 100_000, _give_feedback, None, 252_006),
    GasCase.of("giveFeedback, its second", 84_000, _give_feedback, None, 187_214, nth=2),
    GasCase.of("giveFeedback, its fifth: a new page", 106_000, _give_feedback, nth=5),
    GasCase.of("giveFeedback, first, no tags", 97_500, _give_feedback, tags=NO_TAGS),
    GasCase.of("giveFeedback, first, new tags", 172_000, _give_feedback, tags=TAGS[::-1]),
    GasCase.of("giveFeedback, an agent's first", 118_000, _give_feedback, agent_id=UNRATED_AGENT_ID),
    GasCase.of("getSummary of 1, execution", 3_000, _get_summary, count=1),
    GasCase.of("getSummary of 100, execution", 3_000, _get_summary, count=100),
    GasCase.of("getSummary of 1,000, execution", 3_000, _get_summary, count=1_000),
    GasCase("getFeedback, execution", 9_000, _get_feedback),
    GasCase("getClientFeedbackPage of 10, execution", 60_000, _get_client_feedback_page),
]
"""The calls of the registry for authorised feedback."""


RESPONSE_HASH = keccak(text="evidence")

TAG = "hard-finality"

OTHER_TAG = "soft-finality"


def _request_hash(number: int) -> bytes:
    return keccak(text=f"request {number}")


def _request(world: World, number: int) -> Any:
    return world.validation.validationRequest(world.validator, 1, URI, _request_hash(number), sender=world.owner)


def _respond(world: World, number: int, response: int, tag: str) -> Any:
    # In the second of the request, or of the answer before, the time of the last update would not change.
    ape.chain.pending_timestamp += 60
    return world.validation.validationResponse(
        _request_hash(number), response, URI, RESPONSE_HASH, tag, sender=world.validator
    )


def _request_some(world: World, count: int) -> Any:
    """Request validations for a newly registered agent, and return the gas of the last request."""
    world.identity.register(sender=world.owner)
    return [_request(world, number) for number in range(count)][-1]


def _first_response(world: World, *, tag_is_known: bool) -> Any:
    _request_some(world, 2)
    if tag_is_known:
        _respond(world, 0, 50, TAG)
    return _respond(world, 1, 100, TAG)


def _second_response(world: World) -> Any:
    _request_some(world, 1)
    _respond(world, 0, 50, OTHER_TAG)
    return _respond(world, 0, 100, TAG)


def _answer_many(world: World, count: int, *, answered: int) -> Any:
    """Let a contract request validations of its own agent from itself and answer some of them.

    Args:
        world: The world.
        count: The number of requests.
        answered: The number of answered requests: the first ones.

    Returns:
        The contract.
    """
    batcher = world.deployer.deploy(ape.project.MockBatcher)
    batcher.executeAll(world.identity, [world.identity.register.encode_input()], sender=world.deployer)
    request, respond = world.validation.validationRequest.encode_input, world.validation.validationResponse.encode_input
    calls = [request(batcher, 1, URI, _request_hash(number)) for number in range(count)]
    calls += [respond(_request_hash(number), number, URI, RESPONSE_HASH, TAG) for number in range(answered)]
    batcher.executeAll(world.validation, calls, sender=world.deployer)
    return batcher


def _summary(world: World, *, answered: int, filtered: bool = False) -> Any:
    validator = _answer_many(world, 100, answered=answered)
    validators: Sequence[Any] = [validator] if filtered else []
    return execution_gas(world.validation.getSummary, 1, validators, TAG if filtered else "")


def _get_agent_validations(world: World, count: int) -> Any:
    _answer_many(world, count, answered=0)
    return execution_gas(world.validation.getAgentValidations, 1)


def _get_validator_requests(world: World, count: int) -> Any:
    validator = _answer_many(world, count, answered=0)
    return execution_gas(world.validation.getValidatorRequests, validator)


VALIDATION_CASES = [
    GasCase.of("validationRequest, first of agent and validator", 145_000, _request_some, count=1),
    GasCase.of("validationRequest, after others", 125_000, _request_some, 175_967, 267_073, count=2),
    GasCase.of("validationResponse, first, new tag", 90_000, _first_response, 132_294, 167_369, tag_is_known=False),
    GasCase.of("validationResponse, first, known tag", 70_000, _first_response, 132_294, 167_369, tag_is_known=True),
    GasCase("validationResponse, second, new tag", 75_000, _second_response),
    GasCase.of("getSummary of 100 answered, no filter, execution", 480_000, _summary, 705_488, answered=100),
    GasCase.of(
        "getSummary of 100 answered, one validator and tag, execution", 480_000, _summary, answered=100, filtered=True
    ),
    GasCase.of("getSummary of 100 unanswered, execution", 250_000, _summary, answered=0),
    GasCase.of("getAgentValidations of 100, execution", 250_000, _get_agent_validations, count=100),
    GasCase.of("getValidatorRequests of 100, execution", 500_000, _get_validator_requests, count=100),
]
"""The validation registry's calls."""


SERVER_ID = 1

FIRST_SUBJECT = 2
"""The first agent that the server rates. The agents share a word of ratings."""

LAST_SUBJECT = 5

VALUE = (87, 0, "starred", "", "", "", bytes(32))


class CompanionWorld(World):
    """Registries on top of a companion. The owner owns agent 1, and agents 0 to 5 exist."""

    def __init__(self) -> None:
        super().__init__()
        for agent_id in range(LAST_SUBJECT + 1):
            self.foreign.register(sender=self.owner if agent_id == SERVER_ID else self.deployer)

    @cached_property
    def foreign(self) -> Any:
        """The identity registry, which has no directory."""
        return deploy_behind_proxy(ape.project, self.deployer, "MockDeployedIdentityRegistry")

    @cached_property
    def identity(self) -> Any:
        """The companion, which the other registries ask."""
        return self.deployer.deploy(ape.project.CompanionDirectory, self.foreign)

    def speaker(self) -> AccountAPI:
        """Return the owner, who has chosen its agent."""
        self.identity.setPrimaryAgent(SERVER_ID, sender=self.owner)
        return self.owner


def _set_primary_agent(_: World) -> Any:
    world = CompanionWorld()
    return world.identity.setPrimaryAgent(SERVER_ID, sender=world.owner)


def _prove_agent(_: World, earlier: int) -> Any:
    world = CompanionWorld()
    prove, subjects = world.identity.proveAgent, range(FIRST_SUBJECT, FIRST_SUBJECT + earlier + 1)
    return [prove(subject, sender=world.client) for subject in subjects][-1]


def _rate(_: World, kind: str, earlier: int) -> Any:
    world = CompanionWorld()
    server, rate = world.speaker(), getattr(world.reputation, f"rate{kind}")
    return [rate(FIRST_SUBJECT + number, 95, sender=server) for number in range(earlier + 1)][-1]


def _rate_clients(_: World) -> Any:
    """Rate new clients that share a word, and return the gas for each."""
    world = CompanionWorld()
    server, clients = world.speaker(), list(range(FIRST_SUBJECT, LAST_SUBJECT))
    world.identity.proveAgent(LAST_SUBJECT, sender=world.client)
    receipt = world.reputation.rateClients(clients, [95] * len(clients), sender=server)
    return int(receipt.gas_used) // len(clients)


def _give_feedback_companion(_: World) -> Any:
    """Give feedback to an agent that has some, with the same tag, as a client's first."""
    world = CompanionWorld()
    give = world.reputation.giveFeedback
    return [give(SERVER_ID, *VALUE, sender=client) for client in (world.other_client, world.client)][-1]


def _give_authorized_feedback(_: World, nth: int) -> Any:
    """Give feedback as in the first cases of the registry for authorised feedback."""
    world = CompanionWorld()
    other, client = world.other_client, world.client
    world.authorized.giveFeedback(*feedback_arguments(world, other.address, 1), sender=other)
    arguments = feedback_arguments(world, client.address, nth)
    return [world.authorized.giveFeedback(*arguments, sender=client) for _ in range(nth)][-1]


def _agent_of_companion(_: World) -> Any:
    world = CompanionWorld()
    return execution_gas(world.identity.agentOf, world.speaker())


COMPANION_CASES = [
    GasCase("setPrimaryAgent, a first choice", 60_000, _set_primary_agent),
    GasCase.of("proveAgent, the first", 60_000, _prove_agent, earlier=0),
    GasCase.of("proveAgent, a later one", 42_000, _prove_agent, earlier=1),
    GasCase("agentOf an owner, execution", 14_000, _agent_of_companion),
    GasCase.of("rateClient by a companion, first in a word", 66_000, _rate, kind="Client", earlier=0),
    GasCase.of("rateClient by a companion, a neighbour", 49_000, _rate, kind="Client", earlier=1),
    GasCase.of("rateValidator by a companion, first in a word", 66_000, _rate, kind="Validator", earlier=0),
    GasCase("rateClients by a companion, 3 new neighbours, each", 26_000, _rate_clients),
    GasCase("giveFeedback by a companion, value and tag", 130_000, _give_feedback_companion),
    GasCase.of("authorised giveFeedback by a companion, first", 111_000, _give_authorized_feedback, nth=1),
    GasCase.of("authorised giveFeedback by a companion, second", 94_000, _give_authorized_feedback, nth=2),
]
"""The calls of the companion, and those of the other registries on top of it."""
