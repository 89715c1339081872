"""`bilateral buyer install-prover`, `join-tiers`, `post-tiers`, `audit-tiers`, `prove-tier` and `verify-tier`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bilateral.cli.buyer_service import Service
from bilateral.cli.index_options import Database, open_index, require_extra
from bilateral.cli.invocation import Invocation
from bilateral.cli.options import argument, command, option, optional
from bilateral.cli.terms import bytes_of, object_of
from bilateral.core.errors import InvalidArgumentError, require_modules

if TYPE_CHECKING:
    from bilateral.core.contracts.buyer_terms import BuyerTier


Policy = Annotated[str, option("NAME", "The scoring policy that determines the tiers.", "--policy")]
Day = Annotated[int | None, option("DAY", "The UTC day, in days since 1970-01-01; today by default.", "--epoch")]
Gate = Annotated[
    str, option("ADDRESS", "The contract where the proof is used; it inherits PrivateTierGated.", "--gate")
]
RequestHash = Annotated[str, option("HASH", "The hash of the request, if the gate requires one.", "--request")]
Holder = Annotated[str, argument("HOLDER", "The account that uses the proof, preferably a new one.")]


def add_commands(app: typer.Typer) -> None:
    """Add the commands to their group."""
    command(app, "install-prover", is_local=True, needs=_require_private)(install)
    command(app, "join-tiers", signs=True, needs=_require_private)(join)
    command(app, "post-tiers", signs=True, needs=_require_private)(post)
    command(app, writes=True)(post_roots)
    command(app, "audit-tiers", needs=_require_private)(audit)
    command(app, "prove-tier", signs=True, needs=_require_private)(prove)
    command(app, "verify-tier", needs=_require_private)(verify)


def install(
    invocation: Invocation,
    folder: Path | None = optional("FOLDER", "The prover's folder; the variable BILATERAL_PROVER sets the default."),
) -> None:
    """Install the prover for private tiers with npm, with every file pinned by hash. Requires Node 20 or newer."""
    from bilateral.buyers.private.prover import default_folder, install_prover  # noqa: PLC0415  # slow to import

    install_prover(folder, progress=invocation.output.note)
    invocation.output.result({"folder": str(folder or default_folder())}, title="Prover installed")


def join(
    invocation: Invocation,
    service: Service,
    chain_id: Annotated[int, option("ID", "The chain on which the payments were made.")],
    policy: Policy = "brp-1.0",
    epoch: Day = None,
) -> None:
    """As the buyer, join the groups for private proofs. The service learns only a commitment."""
    from bilateral.buyers.private.proving import identity_secret, join_tiers  # noqa: PLC0415  # slow to import

    signer = invocation.signer
    options = {"chain_id": chain_id, "policy": policy, "from_epoch": epoch}
    accepted = join_tiers(service, identity_secret(signer), signer, **options)  # type: ignore[arg-type]
    invocation.output.result(dict(accepted), title="Member")


def post(invocation: Invocation, policy: Policy = "brp-1.0", database: Database = None) -> None:
    """As the attestor, build today's groups, publish their list, and post their roots. Safe to repeat.

    Run `bilateral buyer anchor-states` first, on the same day.
    """
    require_extra()
    from bilateral.buyers.private.members import post_tiers  # noqa: PLC0415  # slow to import
    from bilateral.buyers.private.prover import Prover  # noqa: PLC0415

    with open_index(database) as engine, invocation.signing() as client:
        posted = post_tiers(engine, client, policy, Prover())
    invocation.output.result(
        {"epoch": posted.epoch, "policy": policy, "members": dict(posted.sizes), "roots": list(map(str, posted.roots))},
        title="Tiers posted",
    )


def post_roots(
    invocation: Invocation,
    epoch: Annotated[int, argument("EPOCH", "The UTC day, in days since 1970-01-01.")],
    roots: Annotated[
        list[str], option("NUMBER", "The roots for the tiers verified, trusted and premium, in that order.", "--root")
    ],
    policy: Policy = "brp-1.0",
) -> None:
    """As the attestor, post three roots that another program computed. Nobody can replace them."""
    from bilateral.core.contracts.buyer_terms import policy_hash  # noqa: PLC0415  # slow to import

    if not all(root.isascii() and root.isdecimal() for root in roots):
        raise InvalidArgumentError("each --root must be a whole number in decimal digits")
    numbers = [int(root) for root in roots]
    invocation.write("Roots posted", lambda client: client.post_tier_roots(epoch, policy_hash(policy), numbers))


def audit(invocation: Invocation, service: Service, policy: Policy = "brp-1.0", epoch: Day = None) -> None:
    """Check a day's member list against the chain: trees, anchored states, and the members' signatures."""
    from bilateral.buyers.private.lists import audit_list  # noqa: PLC0415  # slow to import
    from bilateral.buyers.private.prover import Prover  # noqa: PLC0415
    from bilateral.buyers.private.proving import fetch_list  # noqa: PLC0415
    from bilateral.buyers.private.tiers import epoch_of  # noqa: PLC0415
    from bilateral.core.contracts.buyer_terms import policy_hash  # noqa: PLC0415  # slow to import

    document = fetch_list(service, policy, epoch_of() if epoch is None else epoch)
    with invocation.reading() as client:
        audited = audit_list(document, client, Prover())
        roots = client.get_tier_roots(policy_hash(policy), audited.members.epoch)
    invocation.output.result(
        {
            "epoch": audited.members.epoch,
            "anchor_epoch": audited.members.anchor_epoch,
            "members": dict(audited.sizes),
            "roots": list(map(str, roots or ())),
            "checked": audited.checked,
            "agrees": True,
        },
        title="The list agrees with the chain",
    )


def prove(  # noqa: PLR0913, PLR0917  # one an option
    invocation: Invocation,
    holder: Holder,
    tier: Annotated[str, option("TIER", "The tier: verified, trusted or premium.")],
    gate: Gate,
    service: Service,
    policy: Policy = "brp-1.0",
    epoch: Day = None,
    request: RequestHash = "0x" + "00" * 32,
    least: int = option(
        None,
        "The minimum number of members in the group that hides the author of the proof.",
        "--least-members",
        default=20,
        min=1,
    ),
) -> None:
    """Prove a tier privately for one contract, day and holder. Writes the proof, but sends no transaction."""
    from bilateral.buyers.private.proving import fetch_list, identity_secret, prove_tier  # noqa: PLC0415
    from bilateral.buyers.private.tiers import epoch_of, private_gate_scope  # noqa: PLC0415
    from bilateral.core.contracts.buyer_terms import policy_hash  # noqa: PLC0415

    requested, hashed = _tier(tier), bytes_of(request, "--request")
    document = fetch_list(service, policy, epoch_of() if epoch is None else epoch)
    with invocation.reading() as client:
        chain_id = client.get_deployment().chain_id
        proof = prove_tier(
            document,
            identity_secret(invocation.signer),
            requested,
            holder,
            client,
            scope=lambda day: private_gate_scope(chain_id, gate, policy_hash(policy), day),
            request=hashed,
            least_members=least,
            progress=invocation.output.note,
        )
    invocation.output.raw(json.dumps(proof.to_json()))


def verify(
    invocation: Invocation,
    proof: Annotated[Path, argument("FILE", "A proof written by `buyer prove-tier`; - for standard input.")],
    holder: Annotated[str, option("ADDRESS", "The account that uses the proof.")],
    gate: Gate,
    request: RequestHash = "0x" + "00" * 32,
) -> None:
    """Check a private tier proof by calling the contract. The check does not mark it as used; only the gate does."""
    from bilateral.buyers.private.tiers import TierProof, private_gate_scope, use_message  # noqa: PLC0415

    fields = object_of(invocation.read_file(proof), "policy", "tier", "epoch", "merkleTreeDepth", "nullifier", "points")
    claimed = TierProof.from_json(fields)
    with invocation.reading() as client:
        scope = private_gate_scope(client.get_deployment().chain_id, gate, claimed.policy, claimed.epoch)
        message = use_message(holder, bytes_of(request, "--request"))
        policy, day = claimed.policy, claimed.epoch
        client.verify_tier(*claimed.arguments, policy, claimed.minimum, day, scope, message)
    invocation.output.result(
        {"tier": claimed.minimum, "epoch": claimed.epoch, "nullifier": str(claimed.nullifier), "is_valid": True}
    )


def _tier(name: str) -> BuyerTier:
    from bilateral.core.contracts.buyer_terms import BuyerTier  # noqa: PLC0415  # slow to import

    names = [tier.value for tier in BuyerTier if tier is not BuyerTier.NEW]
    if name not in names:
        raise InvalidArgumentError(f"--tier must be one of {', '.join(names)} for a private proof, not {name}")
    return BuyerTier(name)


def _require_private() -> None:
    require_modules("private", "py_ecc", "rfc8785")
