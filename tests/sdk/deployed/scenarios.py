"""Each public method of the client, called once in a world. A scenario fails unless the result is right."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from tempfile import mkdtemp

from eth_account import Account

from bilateral.client import Signal
from bilateral.client.blind_vault import BlindVault
from bilateral.client.operations.blind import pair_of
from bilateral.core.signatures import Domain
from bilateral.core.signatures.blind_ratings import RatingState
from bilateral.documents import RegistrationFile
from tests.sdk.deployed.catalogue import (
    fresh,
    fresh_of_reviewer,
    named,
    new_hash,
    proven,
    rater,
    scenario,
    speaker,
)
from tests.sdk.deployed.world import CHECKER, OWNER, REVIEWER

FILE = RegistrationFile.new("Agent", "It works", "https://agent.example/i.png")


@scenario
def address(world):
    assert world.owner.address == OWNER.address


@scenario
def get_deployment(world):
    assert world.owner.get_deployment().chain_id == 8453


@scenario
def inspect_deployment(world):
    report = world.owner.inspect_deployment()
    assert report.problems == ()
    assert [registry.has_code for registry in report.registries] == [True] * len(report.registries)


@scenario
def close(world):
    client = world.connect()
    client.close()


@scenario
def batch(world):
    with world.owner.batch() as batched:
        handles = [batched.register_agent(), batched.register_agent()]
    ids = [handle.wait().agent.token_id for handle in handles]
    assert ids[1] == ids[0] + 1


@scenario
def find_transaction(world):
    handle = world.owner.register_agent()
    assert world.owner.find_transaction(handle.hash).wait() is True


@scenario
def register_agent(world):
    handle = world.owner.register_agent(file=FILE, metadata={"a": b"b"})
    registered = handle.wait()
    assert (registered.owner, registered.metadata) == (OWNER.address, (("a", b"b"),))
    assert world.owner.load_agent(registered.agent).name == "Agent"


@scenario
def load_agent(world):
    agent = world.owner.load_agent(world.agent)
    assert (agent.owner, agent.wallet, agent.uri, agent.domain) == (OWNER.address, OWNER.address, "", "")


@scenario
def get_metadata(world):
    assert world.owner.get_metadata(world.agent, "nothing") == b""


@scenario
def set_metadata(world):
    agent = fresh(world)
    world.owner.set_metadata(agent, "key", "value").wait()
    assert world.owner.get_metadata(agent, "key") == b"value"


@scenario
def set_agent_uri(world):
    agent = fresh(world)
    world.owner.set_agent_uri(agent, file=FILE).wait()
    assert world.owner.load_agent(agent).is_confirmed


@scenario
def edit_registration(world):
    agent = fresh(world)
    world.owner.set_agent_uri(agent, file=FILE).wait()
    world.owner.edit_registration(agent, name="Other").wait()
    assert world.owner.load_agent(agent).name == "Other"


@scenario
def set_agent_wallet(world):
    agent, wallet = fresh(world), Account.create()
    world.owner.set_agent_wallet(agent, wallet.address, new_wallet_signer=wallet).wait()
    assert world.owner.load_agent(agent).wallet == wallet.address


@scenario
def unset_agent_wallet(world):
    agent = fresh(world)
    assert world.owner.unset_agent_wallet(agent).wait().wallet is None
    assert world.owner.load_agent(agent).wallet is None


@scenario
def transfer_agent(world):
    agent, heir = fresh(world), Account.create().address
    assert world.owner.transfer_agent(agent, heir).wait().owner == heir
    assert world.owner.get_agent_owner(agent) == heir


@scenario
def get_agent_owner(world):
    assert world.reviewer.get_agent_owner(world.agent) == OWNER.address


@scenario
def is_authorized_or_owner(world):
    assert world.owner.is_authorized_or_owner(OWNER.address, world.agent)
    assert not world.owner.is_authorized_or_owner(REVIEWER.address, world.agent)


@scenario
def new_agent(world):
    assert world.newcomer().new_agent("agent.example").wait().domain == "agent.example"


@scenario
def update_agent(world):
    agent = fresh(world)
    assert world.owner.update_agent(agent, domain="updated.example").wait().domain == "updated.example"


@scenario
def release_agent_domain(world):
    assert world.owner.release_agent_domain(fresh(world)).wait().domain == ""


@scenario
def resolve_by_domain(world):
    agent = fresh(world)
    world.owner.update_agent(agent, domain="resolved.example").wait()
    assert world.owner.resolve_by_domain("Resolved.example").agent == agent


@scenario
def resolve_by_address(world):
    world.reviewer.set_primary_agent(world.other).wait()
    entry = world.owner.resolve_by_address(REVIEWER.address)
    assert (entry.agent.token_id, entry.address) == (world.other, REVIEWER.address)


@scenario
def set_primary_agent(world):
    chosen = world.reviewer.set_primary_agent(world.other).wait()
    assert (chosen.account, chosen.agent.token_id) == (REVIEWER.address, world.other)


@scenario
def prove_agent(world):
    agent = fresh(world)
    assert world.payer.prove_agent(agent).wait().is_highest
    assert not world.payer.prove_agent(agent).wait().is_highest


@scenario
def give_feedback(world):
    entry = world.reviewer.give_feedback(world.agent, "99.5", "uptime").wait()
    assert entry.id.agent.token_id == world.agent
    assert entry.value == Decimal("99.5")


@scenario
def get_feedback(world):
    feedback = world.reviewer.give_feedback(world.agent, 80, endpoint="https://agent.example").wait()
    read = world.owner.get_feedback(feedback.id)
    assert (read.value, read.event.endpoint) == (80, "https://agent.example")


@scenario
def read_all_feedback(world):
    agent = fresh(world)
    world.reviewer.give_feedback(agent, 80, "starred").wait()
    assert [entry.value for entry in world.owner.read_all_feedback(agent, tag1="starred")] == [80]


@scenario
def get_clients(world):
    agent = fresh(world)
    world.reviewer.give_feedback(agent, 80).wait()
    assert world.owner.get_clients(agent) == [REVIEWER.address]


@scenario
def search_feedback(world):
    agent = fresh(world)
    world.reviewer.give_feedback(agent, 80, "starred").wait()
    assert [entry.value for entry in world.owner.search_feedback(agent, tags=["starred"], load_files=True)] == [80]


@scenario
def get_reputation_summary(world):
    agent = fresh(world)
    world.reviewer.give_feedback(agent, 80, "starred").wait()
    world.checker.give_feedback(agent, 90, "starred").wait()
    summary = world.owner.get_reputation_summary(agent, "starred")
    assert (summary.count, summary.average, summary.is_computed_here) == (2, 85, False)


@scenario
def append_response(world):
    feedback = world.reviewer.give_feedback(world.agent, 80).wait()
    assert world.owner.append_response(feedback.id, response="thanks").wait().responder == OWNER.address


@scenario
def get_responses(world):
    feedback = world.reviewer.give_feedback(world.agent, 80).wait()
    world.owner.append_response(feedback.id, response="thanks").wait()
    assert [response.responder for response in world.owner.get_responses(feedback.id)] == [OWNER.address]


@scenario
def revoke_feedback(world):
    feedback = world.reviewer.give_feedback(world.agent, 80).wait()
    world.reviewer.revoke_feedback(feedback.id).wait()
    assert world.owner.get_feedback(feedback.id).is_revoked


@scenario
def rate_client(world):
    subject = fresh_of_reviewer(world)
    assert rater(world).rate_client(subject, 80).wait().rating == 80


@scenario
def rate_validator(world):
    subject = fresh_of_reviewer(world)
    assert rater(world).rate_validator(subject, 80).wait().rating == 80


@scenario
def rate_clients(world):
    subjects = proven(world, [fresh_of_reviewer(world), fresh_of_reviewer(world)])
    rated = rater(world).rate_clients(dict.fromkeys(subjects, 70)).wait()
    assert [client.subject for client in rated] == subjects


@scenario
def rate_validators(world):
    subjects = proven(world, [fresh_of_reviewer(world), fresh_of_reviewer(world)])
    rated = rater(world).rate_validators(dict.fromkeys(subjects, 70)).wait()
    assert [validator.subject for validator in rated] == subjects


@scenario
def get_client_rating(world):
    assert world.owner.get_client_rating(world.other, world.agent).rating is None


@scenario
def get_client_ratings(world):
    assert [client_rating.rating for client_rating in world.owner.get_client_ratings([world.other], world.agent)] == [
        None
    ]


@scenario
def get_validator_rating(world):
    assert world.owner.get_validator_rating(world.other, world.agent).rating is None


@scenario
def authorize_feedback(world):
    authorization = world.owner.authorize_feedback(world.agent, REVIEWER.address)
    assert authorization.auth.agent_id == world.agent


@scenario
def give_authorized_feedback(world):
    authorization = world.owner.authorize_feedback(world.agent, REVIEWER.address)
    assert world.reviewer.give_authorized_feedback(world.agent, 90, authorization).wait().score == 90


@scenario
def get_authorized_summary(world):
    assert world.owner.get_authorized_summary(fresh(world)).count == 0


@scenario
def get_authorized_feedback(world):
    assert world.owner.get_authorized_feedback(fresh(world)) == []


@scenario
def sign_feedback(world):
    signed = world.reviewer.sign_feedback(world.agent, 80)
    assert signed.feedback.client_address == REVIEWER.address


@scenario
def submit_signed_feedback(world):
    signed = world.reviewer.sign_feedback(world.agent, 80)
    assert world.payer.submit_signed_feedback(signed).wait().id.client == REVIEWER.address


@scenario
def void_signatures(world):
    through = datetime.now(UTC) + timedelta(days=2)
    assert world.newcomer().void_signatures(through).wait().deadline == through.replace(microsecond=0)


@scenario
def get_voided_deadline(world):
    assert world.owner.get_voided_deadline(Account.create().address) is None


@scenario
def is_valid_signature(world):
    digest = bytes(range(32))
    signature = Account.unsafe_sign_hash(digest, OWNER.key).signature
    assert world.reviewer.is_valid_signature(OWNER.address, digest, bytes(signature))


@scenario
def request_validation(world):
    requested = world.owner.request_validation(world.agent, CHECKER.address, document=named(b"requested")).wait()
    assert (requested.agent.token_id, requested.validator) == (world.agent, CHECKER.address)


@scenario
def respond_to_validation(world):
    request = world.owner.request_validation(world.agent, CHECKER.address, document=named(b"answered")).wait()
    assert world.checker.respond_to_validation(request.request_hash, 90).wait().response == 90


@scenario
def get_validation_status(world):
    request = world.owner.request_validation(world.agent, CHECKER.address, document=named(b"status")).wait()
    assert world.reviewer.get_validation_status(request.request_hash).validator == CHECKER.address


@scenario
def get_validation_summary(world):
    assert world.owner.get_validation_summary(fresh(world)).count == 0


@scenario
def get_agent_validations(world):
    agent = fresh(world)
    request = world.owner.request_validation(agent, CHECKER.address, document=named(b"listed")).wait()
    assert world.owner.get_agent_validations(agent) == [request.request_hash]


@scenario
def get_validator_requests(world):
    assert world.owner.get_validator_requests(Account.create().address) == []


@scenario
def resolve_rater(world):
    client = world.newcomer()
    agent = client.register_agent().wait().agent
    assert world.owner.resolve_rater(client.address).agent.id == agent


@scenario
def publish_signals(world):
    signals = [Signal(world.agent, "reachable", True), Signal(world.other, "uptime", "99.5")]
    period = f"period {Account.create().address}"
    for handle in world.checker.publish_signals(signals, period).handles:
        handle.wait()
    assert len(world.checker.publish_signals(signals, period).already_published) == 2


@scenario
def seal_rating(world):
    assert Blind(world).offer().envelope.seal


@scenario
def seal_feedback(world):
    blind = Blind(world)
    feedback, offer = blind.envelopes()
    assert feedback.envelope.interaction == offer.envelope.interaction


@scenario
def verify_envelope(world):
    blind = Blind(world)
    blind.client.verify_envelope(blind.offer())


@scenario
def seal_ratings(world):
    blind = Blind(world)
    sealed = world.payer.seal_ratings(*blind.envelopes()).wait()
    assert (sealed.client, sealed.server) == (blind.client_id, blind.server_id)


@scenario
def open_ratings(world):
    blind = Blind(world)
    envelopes = blind.envelopes()
    world.payer.seal_ratings(*envelopes).wait()
    pair, _ = pair_of(*envelopes)
    assert world.payer.open_ratings(pair, blind.openings(envelopes)).wait().rating == 20


@scenario
def exchange(world):
    blind = Blind(world)
    envelopes = blind.envelopes()
    assert world.payer.exchange(envelopes, blind.openings(envelopes)).wait().rating == 20


@scenario
def get_blind_status(world):
    blind = Blind(world)
    assert world.payer.get_blind_status(blind.client_id, blind.server_id).state is RatingState.NONE


class Blind:
    """A server and a client that rate each other blind, each with its vault."""

    def __init__(self, world):
        folder = Path(mkdtemp())
        self.server, self.server_id = speaker(world)
        self.client, self.client_id = speaker(world)
        self.vaults = BlindVault(folder / "client.sqlite"), BlindVault(folder / "server.sqlite")

    def offer(self):
        """Return the server's envelope."""
        sides = {"client": self.client.address, "interaction": new_hash()}
        return self.server.seal_rating(self.vaults[1], self.client_id, 20, **sides)

    def envelopes(self):
        """Return both envelopes, the client's first."""
        offer = self.offer()
        return self.client.seal_feedback(self.vaults[0], offer, 87, "starred"), offer

    def openings(self, envelopes):
        """Return the openings of both envelopes."""
        deployment = self.client.get_deployment()
        domain = Domain(deployment.chain_id, deployment.ratings)
        return [vault.opening_of(domain, signed.envelope) for vault, signed in zip(self.vaults, envelopes, strict=True)]
