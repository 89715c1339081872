"""A hostile identity registry cannot re-enter the registries that ask it.

The deployer of a registry chooses its identity registry for ever. A hostile one can lie about agents, but it cannot
change any state while it answers. After each call all registries must answer like the model.
"""

from __future__ import annotations

from copy import copy

import pytest

from bilateral.core.signatures import Feedback, FeedbackAuth, encode_feedback_auth
from tests.calls import encoded
from tests.system.conftest import GIVEN, REQUEST, RESPONSE, world_with_agents
from tests.system.functions import signature_of
from tests.system.questions import REQUEST_HASHES
from tests.system.rpc_chain import REGISTRIES


def give_feedback(world, registry="open"):
    _, client, *_ = world.everybody
    return client, registry, ("giveFeedback", 1, *GIVEN), None


def give_plain_feedback(world):
    return give_feedback(world, "plain")


def give_feedback_by_sig(world):
    _, client, sponsor, *_ = world.everybody
    message = Feedback(1, client, 2, *GIVEN, deadline=world.model.now)
    feedback = (client, (1, 2, *GIVEN), world.model.now)
    signature = world.sign(message, "open", client)
    return sponsor, "open", ("giveFeedbackBySig", *feedback, signature), (*feedback, world.model.keys[client])


def give_authorised_feedback(world, client=None):
    owner, honest_client, *_ = world.everybody
    client = client or honest_client
    auth = FeedbackAuth(1, client, 1, world.model.now, world.chain.id)
    feedback = (1, 87, bytes(32), bytes(32))
    feedback_auth = encode_feedback_auth(auth, world.sign(auth, "authorised", owner))
    call = ("giveFeedback", *feedback, "", bytes(32), feedback_auth)
    return client, "authorised", call, (*feedback, feedback_auth, owner, auth.digest(world.domain("authorised")))


def rate_client(world):
    return world.everybody[0], "open", ("rateClient", 2, 35), None


def rate_validator(world):
    return world.everybody[0], "open", ("rateValidator", 2, 92), None


def rate_clients(world):
    return world.everybody[0], "open", ("rateClients", (2, 3), (35, 92)), None


def rate_validators(world):
    return world.everybody[0], "open", ("rateValidators", (2, 3), (35, 92)), None


def accept_feedback(world):
    return world.everybody[0], "open", ("acceptFeedback", 2, 1), None


def request_validation(world):
    owner, client, *_ = world.everybody
    return owner, "validation", ("validationRequest", client, 1, *REQUEST), None


ASK = [
    give_feedback,
    give_plain_feedback,
    give_feedback_by_sig,
    give_authorised_feedback,
    rate_client,
    rate_validator,
    rate_clients,
    rate_validators,
    accept_feedback,
    request_validation,
]
"""All functions that ask the identity registry: `(caller, registry, call, as_modelled)`."""


def answer_feedback(world, _identity):
    return "open", ("appendResponse", 1, world.everybody[1], 1, *RESPONSE)


def revoke(_world, _identity):
    return "open", ("revokeFeedback", 1, 1)


def rate_as_an_agent(_world, _identity):
    return "open", ("rateClient", 1, 0)


def authorise(world, identity):
    _, registry, call, _ = give_authorised_feedback(world, identity)
    return registry, call


def respond_to_a_request(_world, _identity):
    return "validation", ("validationResponse", REQUEST_HASHES[2], 0, *RESPONSE, "")


ON_THE_SIDE = [answer_feedback, revoke, rate_as_an_agent, authorise, respond_to_a_request]
"""Calls that the identity registry may make at any other time: `(registry, call)`."""


@pytest.fixture
def identity(system):
    return system.deploy("IdentityReenters", system.addresses["identity"])


@pytest.fixture
def world(system, identity):
    """Registries that ask the hostile identity registry, which has an agent, gave feedback, and validates."""
    chain = copy(system)
    bound = {name: chain.deploy(REGISTRIES[name], identity) for name in REGISTRIES if name != "identity"}
    chain.addresses = system.addresses | bound
    chain.node("anvil_setBalance", identity, hex(10**20))
    world = world_with_agents(chain)
    world.invite(identity, None)
    owner, *_ = world.everybody
    world.call(identity, "identity", "register()")
    world.call(identity, "open", "giveFeedback", 1, *GIVEN)
    world.call(owner, "validation", "validationRequest", identity, 1, "", REQUEST_HASHES[2])
    world.check()
    yield world
    world.check()
    world.end()


def is_taken(world, ask):
    caller, registry, call, as_modelled = ask(world)
    return world.call(caller, registry, *call, as_modelled=as_modelled)


def prepare(world, identity, registry, call):
    """Make the identity registry send a call while it answers. At any other time the call is valid."""
    name, *arguments = call
    target, data = world.chain.addresses[registry], encoded(signature_of(registry, name), *arguments)
    kind, _ = world.chain.call(identity, target, data)
    assert kind == "result"
    receipt = world.chain.send(world.everybody[2], identity, encoded("prepare(address,bytes)", target, data))
    assert receipt["status"] == "0x1"


@pytest.mark.parametrize("ask", ASK)
@pytest.mark.parametrize("on_the_side", ON_THE_SIDE)
def test_identity_registry_that_reenters_gets_in_nowhere(world, identity, ask, on_the_side):
    prepare(world, identity, *on_the_side(world, identity))
    assert is_taken(world, ask)


@pytest.mark.parametrize("ask", ASK)
def test_identity_registry_that_only_looks_around_gets_in(world, identity, ask):
    """The registry rejects a change of state, not the call itself. The hostile registry then does not answer."""
    prepare(world, identity, "validation", ("getVersion()",))
    caller, registry, (name, *arguments), _ = ask(world)
    data = encoded(signature_of(registry, name), *arguments)
    answered = world.chain.call(caller, world.chain.addresses[registry], data)
    assert answered == ("error", encoded("GotIn()"))
