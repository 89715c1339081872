"""`bilateral buyer …`: on-chain buyer records, backed by payments."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bilateral.cli import buyer_service, private_tiers
from bilateral.cli.buyer_service import Gate, PlaceOptions
from bilateral.cli.index_options import Database, open_index, require_extra
from bilateral.cli.invocation import Invocation
from bilateral.cli.options import argument, command, flag, make_group, option, optional
from bilateral.cli.terms import bytes_of, fields_of, json_of, list_of, object_of, term_of
from bilateral.core.errors import InvalidArgumentError

if TYPE_CHECKING:
    from bilateral.core.contracts.buyer_terms import BuyerFeedback, BuyerRole


app = make_group("buyer")

Buyer = Annotated[str, argument("BUYER", "The account that pays.")]
PaymentTransaction = Annotated[str, argument("TRANSACTION", "The payment's transaction hash.")]
Terms = Annotated[Path, argument("FILE", "A JSON file (docs/buyers.md); - for standard input.")]
Role = Annotated[str, argument("ROLE", "attestor (attests payments and tiers) or anchorer (posts Merkle roots).")]


@command(app)
def show(
    invocation: Invocation,
    buyer: Buyer,
    seller: str | None = optional("ADDRESS", "Also show this seller's vote on the buyer."),
    service: buyer_service.OptionalService = None,
    policy: buyer_service.ScoringPolicy = None,
) -> None:
    """Show a buyer's score and tier, from a service or, if none is specified, from the on-chain registry.

    The output lists its sources. A service counts all payments that it has indexed. The on-chain registry counts the
    payments that it settled itself and those that its attestor vouches for.
    """
    fields: dict[str, Any] = {}
    if service is not None:
        fields = buyer_service.answer_about(invocation, service, buyer, policy)
    elif policy is not None:
        raise InvalidArgumentError(
            "--policy requires --service: the on-chain registry always applies the same scoring rules"
        )
    if service is None or seller is not None:
        with invocation.reading() as client:
            if service is None:
                fields = {
                    "score": client.get_buyer_score(buyer),
                    "tier": client.get_buyer_tier(buyer),
                    "from_settled_payments": client.get_settlement_score(buyer),
                    "records": client.get_buyer_records(buyer),
                    "sources": [buyer_service.source_on_chain(client)],
                }
            if seller is not None:
                fields["vote_of_seller"] = client.get_buyer_feedback(buyer, seller)
    invocation.output.result(fields, title="Buyer")


@command(app, writes=True)
def settle(invocation: Invocation, payment: Terms) -> None:
    """Submit an x402 payment that a buyer signed, and record it."""
    from bilateral.core.contracts.buyer_terms import SignedPayment  # noqa: PLC0415  # slow to import

    signed = term_of(json_of(invocation.read_file(payment)), SignedPayment)
    invocation.write("Payment settled", lambda client: client.settle_payment(signed))


@command(app, writes=True)
def record(
    invocation: Invocation,
    buyer: Buyer,
    amount: Annotated[int, argument("AMOUNT", "The amount, in millionths of a dollar.")],
    transaction_hash: PaymentTransaction,
) -> None:
    """As the attestor, record a payment that is the only one in its transaction."""
    invocation.write("Payment recorded", lambda client: client.record_payment(buyer, amount, transaction_hash))


@command(app, writes=True)
def record_many(invocation: Invocation, payments: Terms) -> None:
    """As the attestor, record several payments made on one chain. If any payment is invalid, none is recorded."""
    from bilateral.core.contracts.buyer_terms import PaymentRecord  # noqa: PLC0415  # slow to import

    content = object_of(invocation.read_file(payments), "chain_id", "payments")
    records = list_of(content["payments"], PaymentRecord, "payments")
    invocation.write("Payments recorded", lambda client: client.record_payments(content["chain_id"], records))


@command(app)
def paid(
    invocation: Invocation,
    transaction_hash: PaymentTransaction,
    position: int | None = optional(
        None, "The position of the payment's log in its transaction; any position by default.", min=0, max=254
    ),
    chain_id: int | None = optional(None, "The payment's chain; the registry's by default."),
) -> None:
    """Show whether the attestor recorded a payment."""
    from bilateral.core.contracts.buyer_terms import WHOLE_TRANSACTION  # noqa: PLC0415  # slow to import

    with invocation.reading() as client:
        place = WHOLE_TRANSACTION if position is None else position
        is_recorded = client.has_payment(transaction_hash, place, chain_id=chain_id)
    invocation.output.result({"transaction": transaction_hash, "is_recorded": is_recorded})


@command(app, writes=True)
def vote(
    invocation: Invocation,
    votes: Annotated[list[str], argument("BUYER:SELLER=SCORE...", "Sellers' votes on buyers.")],
) -> None:
    """As the attestor, record sellers' votes on buyers, each from 0 to 100. A new vote replaces the earlier one."""
    feedback = [_vote(vote) for vote in votes]
    if len(feedback) == 1:
        invocation.write("Vote recorded", lambda client: client.record_buyer_feedback(feedback[0]))
    else:
        invocation.write("Votes recorded", lambda client: client.record_buyer_feedbacks(feedback))


@command(app, writes=True)
def review(invocation: Invocation, reviews: Terms) -> None:
    """As the attestor, record buyers' reviews and disputes. If any entry is invalid, none is recorded."""
    from bilateral.core.contracts.buyer_terms import BuyerReviews  # noqa: PLC0415  # slow to import

    parsed = list_of(json_of(invocation.read_file(reviews)), BuyerReviews)
    invocation.write("Reviews recorded", lambda client: client.record_buyer_reviews(parsed))


@command(app, writes=True)
def anchor(
    invocation: Invocation,
    epoch: Annotated[int, argument("EPOCH", "The next epoch, as shown by `root`.")],
    root: Annotated[str, argument("ROOT", "The Merkle root, 32 bytes.")],
) -> None:
    """As the anchorer, post the next epoch's Merkle root."""
    invocation.write("Root anchored", lambda client: client.anchor_root(epoch, root))


@command(app, "root")
def show_root(
    invocation: Invocation, epoch: int | None = argument("[EPOCH]", "The epoch; the latest by default.", default=None)
) -> None:
    """Show an epoch's Merkle root, and the next epoch."""
    with invocation.reading() as client:
        following = client.get_next_epoch()
        requested = following - 1 if epoch is None else epoch
        root = client.get_root(requested) if requested else None
    invocation.output.result({"epoch": requested, "root": root, "next_epoch": following})


@command(app)
def verify(invocation: Invocation, state: Terms) -> None:
    """Check a buyer's state against the Merkle root of an epoch."""
    from bilateral.core.contracts.buyer_terms import BuyerState  # noqa: PLC0415  # slow to import

    proven = object_of(invocation.read_file(state), "state", "epoch", "proof")
    if not isinstance(proven["proof"], list):
        raise InvalidArgumentError("the field proof must be a JSON list")
    proof = [bytes_of(node, f"proof[{number}]") for number, node in enumerate(proven["proof"])]
    claimed = term_of(proven["state"], BuyerState, "state")
    with invocation.reading() as client:
        is_anchored = client.verify_buyer(claimed, proven["epoch"], proof)
    invocation.output.result({"buyer": claimed.buyer, "epoch": proven["epoch"], "is_anchored": is_anchored})
    if not is_anchored:
        raise typer.Exit(1)


@command(app, signs=True)
def issue(  # noqa: PLR0913, PLR0917  # as many as the user has options
    invocation: Invocation,
    holder: Annotated[str, argument("HOLDER", "The address that may use the credential, preferably a new one.")],
    tier: Annotated[str, option("TIER", "The tier: new, verified, trusted or premium.")],
    pseudonym: Annotated[
        str, option("WORD", "32 bytes that identify the buyer at this gate today, whichever address it uses.")
    ],
    place: PlaceOptions,
    policy: str = option("NAME", "The policy that determined the tier.", default="brp-1.0"),
    lifetime: int = option("SECONDS", "The credential's lifetime in seconds, at most one day.", default=3600),
) -> None:
    """As the attestor, sign and print a tier credential. It expires at the end of the UTC day."""
    from bilateral.buyers.credentials import issue_credential, sign_credential  # noqa: PLC0415
    from bilateral.client.operations import registries  # noqa: PLC0415
    from bilateral.core.contracts import Registry  # noqa: PLC0415
    from bilateral.core.contracts.buyer_terms import BuyerTier, policy_hash  # noqa: PLC0415  # slow to import
    from bilateral.core.signatures import Domain  # noqa: PLC0415

    if tier not in list(BuyerTier):
        raise InvalidArgumentError(f"--tier must be one of {', '.join(BuyerTier)}, not {tier}")
    place.require()
    with invocation.signing() as client:
        deployment = client.get_deployment()
        begin = int(client.runner.run(registries.block_time()).timestamp())  # the clock that the registry uses
        use = {"scope": place.on(deployment.chain_id), "pseudonym": bytes_of(pseudonym, "--pseudonym")}
        issued = issue_credential(holder, BuyerTier(tier), policy_hash(policy), **use, lifetime=lifetime, at=begin)
        domain = Domain(deployment.chain_id, deployment.address_of(Registry.BUYERS))  # type: ignore[arg-type]
        signature = sign_credential(issued, domain, invocation.signer)
    invocation.output.raw(json.dumps({"credential": fields_of(issued), "signature": "0x" + signature.hex()}))


@command(app)
def credential(
    invocation: Invocation,
    signed: Terms,
    gate: Gate = None,
    policy: str = option("NAME", "The scoring policy that the gate requires; only with --gate.", default="brp-1.0"),
) -> None:
    """Check a tier credential's signature and validity. With --gate, also check that it is valid for that gate."""
    from bilateral.buyers.credentials import gate_scope, require_use  # noqa: PLC0415
    from bilateral.client.operations import registries  # noqa: PLC0415
    from bilateral.core.contracts.buyer_terms import BuyerTier, TierCredential, policy_hash  # noqa: PLC0415  # slow to import

    issued = object_of(invocation.read_file(signed), "credential", "signature")
    claimed = term_of(issued["credential"], TierCredential, "credential")
    signature = bytes_of(issued["signature"], "signature")
    with invocation.reading() as client:
        if gate is not None:
            expected = {"policy": policy_hash(policy), "scope": gate_scope(client.get_deployment().chain_id, gate)}
            now = int(client.runner.run(registries.block_time()).timestamp())  # the clock that the gate uses
            require_use(claimed, claimed.holder, **expected, minimum=BuyerTier.NEW, at=now)
        is_valid = client.verify_credential(claimed, signature)
    fields = {"holder": claimed.holder, "tier": claimed.tier, "pseudonym": "0x" + claimed.pseudonym.hex()}
    invocation.output.result({**fields, "is_valid": is_valid})
    if not is_valid:
        raise typer.Exit(1)


@command(app)
def roles(invocation: Invocation) -> None:
    """Show the role holders, and the tokens in which payments are settled."""
    from bilateral.core.contracts.buyer_terms import BuyerRole  # noqa: PLC0415  # slow to import

    with invocation.reading() as client:
        holders = {role.name.lower(): client.get_role_holder(role) for role in BuyerRole}
        tokens = client.get_payment_tokens()
    invocation.output.result(
        {
            **{name: {"holder": holder.holder, "nominee": holder.nominee} for name, holder in holders.items()},
            "tokens": tokens,
        },
        title="Roles",
    )


@command(app, writes=True)
def nominate(
    invocation: Invocation,
    role: Role,
    nominee: str | None = argument("[NOMINEE]", "The successor; omit it to withdraw a nomination.", default=None),
) -> None:
    """Nominate a successor for one of the signer's roles."""
    requested = _role(role)
    invocation.write("Successor nominated", lambda client: client.set_nominee(requested, nominee))


@command(app, writes=True)
def take_role(invocation: Invocation, role: Role) -> None:
    """Accept a role for which the signer was nominated."""
    requested = _role(role)
    invocation.write("Role taken", lambda client: client.take_role(requested))


def _vote(text: str) -> BuyerFeedback:
    from bilateral.core.contracts.buyer_terms import BuyerFeedback  # noqa: PLC0415  # slow to import

    pair, _, score = text.partition("=")
    buyer, _, seller = pair.partition(":")
    if not seller or not score.isascii() or not score.isdigit():
        raise InvalidArgumentError("votes must have the form BUYER:SELLER=SCORE, such as 0x…:0x…=90")
    return BuyerFeedback(buyer, seller, int(score))


def _role(name: str) -> BuyerRole:
    from bilateral.core.contracts.buyer_terms import BuyerRole  # noqa: PLC0415  # slow to import

    roles = {role.name.lower(): role for role in BuyerRole}
    if name not in roles:
        raise InvalidArgumentError(f"ROLE must be {' or '.join(roles)}, not {name}")
    return roles[name]


buyer_service.add_commands(app)


Message = Annotated[str, argument("MESSAGE", "The id of the message or dispute.")]


@command(app, "anchor-states", signs=True, needs=require_extra)
def anchor_stored(
    invocation: Invocation,
    policies: list[str] | None = optional(
        "NAME", "A scoring policy; may be repeated. Defaults to brp-1.0.", "--policy"
    ),
    database: Database = None,
) -> None:
    """As the anchorer, store the states of all indexed buyers, and post their Merkle root. Safe to repeat."""
    from bilateral.buyers.anchoring import anchor_states  # noqa: PLC0415  # slow to import
    from bilateral.buyers.policies import BRP  # noqa: PLC0415

    with open_index(database) as engine, invocation.signing() as client:
        epoch = anchor_states(engine, client, policies or [BRP.name])
        root = client.get_root(epoch)
    invocation.output.result({"epoch": epoch, "root": root}, title="States anchored")


@command(app, is_local=True, needs=require_extra)
def decide(
    invocation: Invocation,
    dispute: Message,
    decision: Annotated[str, option("DECISION", "The decision: upheld or rejected.", "--as")],
    database: Database = None,
) -> None:
    """As the service's operator, decide a seller's dispute about a buyer."""
    from bilateral.buyers.acceptance import decide_dispute  # noqa: PLC0415  # slow to import

    with open_index(database) as engine:
        decide_dispute(engine, dispute, decision)
    invocation.output.result({"dispute": dispute, "state": decision})


@command(app, is_local=True, needs=require_extra)
def remove(
    invocation: Invocation,
    message: Message,
    whole: bool = flag("--whole", "Also remove the message itself, so its score no longer counts."),
    database: Database = None,
) -> None:
    """Remove the text of a message about a buyer or seller, and the text of the reply."""
    from bilateral.buyers.acceptance import remove_message  # noqa: PLC0415  # slow to import

    with open_index(database) as engine:
        table = remove_message(engine, message, whole=whole)
    invocation.output.result({"message": message, "table": table, "removed": "all" if whole else "texts"})


private_tiers.add_commands(app)
