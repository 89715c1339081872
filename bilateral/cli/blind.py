"""`bilateral blind …`: ratings that stay sealed until both sides have rated each other."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from bilateral.cli.columns import columns, field_at
from bilateral.cli.invocation import Invocation
from bilateral.cli.options import argument, command, flag, make_group, option, optional
from bilateral.core.errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bilateral.client import Client
    from bilateral.client.blind_vault import BlindVault, Sealed
    from bilateral.core.signatures.blind_messages import Opening, SignedEnvelope

app = make_group("blind")

Vault = Annotated[
    Path | None,
    option(
        "FILE",
        "The file for your sealed ratings and their salts; ~/.bilateral/blind.sqlite by default.",
        "--vault",
        envvar="BILATERAL_VAULT",
    ),
]
EnvelopeFile = Annotated[Path, argument("ENVELOPE", "One side's envelope (its sealed rating); - for standard input.")]


@dataclass(frozen=True)
class PairOptions:
    """The envelopes of both sides."""

    envelope: EnvelopeFile
    other: Annotated[Path, argument("OTHER", "The other side's envelope.")]

    def read(self, invocation: Invocation) -> list[SignedEnvelope]:
        """Read both files."""
        return read_envelopes(invocation, [self.envelope, self.other])


@dataclass(frozen=True)
class OpenedOptions(PairOptions):
    """Both sides' envelopes, with the openings that reveal them."""

    openings: list[Path] | None = optional("FILE", "An opening that the vault lacks; may be repeated.", "--opening")


@dataclass(frozen=True)
class OfferOptions:
    """The server's envelope. If it is set, the feedback is sealed instead of given openly."""

    blind: Path | None = optional("FILE", "Seal the feedback in reply to the server's envelope in this file.")
    vault: Vault = None


def vault_at(path: Path | None) -> BlindVault:
    """Return the vault that the option specifies, or the default vault."""
    from bilateral.client.blind_vault import BlindVault  # noqa: PLC0415  # slow to import

    return BlindVault(path or Path.home() / ".bilateral" / "blind.sqlite")


@command(app, "list")
def list_(invocation: Invocation, vault: Vault = None) -> None:
    """List your sealed ratings with their deadlines for sealing on chain, and what is still missing."""
    with invocation.reading() as client:
        chain_id = client.get_deployment().chain_id
        rows = [_row(client, sealed) for sealed in vault_at(vault).all() if sealed.chain_id == chain_id]
    names = ("as", "client", "server", "sealed", "until", "state", "missing", "interaction")
    invocation.output.results(rows, columns(*names))


@command(app)
def verify(invocation: Invocation, envelope: EnvelopeFile) -> None:
    """Check an envelope's deadline and signature, and that each agent is its account's primary agent."""
    (signed,) = read_envelopes(invocation, [envelope])
    with invocation.reading() as client:
        client.verify_envelope(signed)
    invocation.output.raw(signed.to_json())


@command(app, writes=True)
def seal(invocation: Invocation, pair: PairOptions) -> None:
    """Store both envelopes on chain. The ratings stay hidden, but can no longer change."""
    envelopes = pair.read(invocation)
    invocation.write("Ratings sealed", lambda client: client.seal_ratings(*envelopes))


@command(app, "open", writes=True)
def open_(
    invocation: Invocation,
    sealed: OpenedOptions,
    confirmations: int = option("N", "Wait until the pair has been sealed for N blocks.", default=1, min=1),
    vault: Vault = None,
) -> None:
    """Open a sealed pair of ratings: your own, from the vault, and the other side's if you pass its --opening."""
    from bilateral.client.operations.blind import pair_of  # noqa: PLC0415  # slow to import

    envelopes = sealed.read(invocation)
    pair, _ = pair_of(*envelopes)
    opened = _openings(invocation, envelopes, sealed.openings, vault)
    invocation.write(
        "Ratings opened",
        lambda client: client.open_ratings(
            pair, opened, confirmations=confirmations, timeout=invocation.settings.timeout
        ),
    )


@command(app, writes=True)
def exchange(
    invocation: Invocation,
    pair: OpenedOptions,
    public_mempool: bool = flag(
        "--public-mempool", "Send the transaction even though others may see both ratings before it is mined."
    ),
    vault: Vault = None,
) -> None:
    """Seal and open both ratings in one transaction."""
    envelopes = pair.read(invocation)
    opened = _openings(invocation, envelopes, pair.openings, vault)
    invocation.write(
        "Ratings exchanged", lambda client: client.exchange(envelopes, opened, accept_public_mempool=public_mempool)
    )


@command(app)
def opening(invocation: Invocation, envelope: EnvelopeFile, vault: Vault = None) -> None:
    """Print your envelope's opening as JSON. Until both ratings are sealed, share it only with people you trust."""
    (signed,) = read_envelopes(invocation, [envelope])
    invocation.output.raw(_own(signed, vault).to_json())


@command(app)
def relay(
    invocation: Invocation,
    envelope: EnvelopeFile,
    url: Annotated[
        str, option("URL", "The relay's URL. The relay learns the rating, so choose one that you trust.", "--relay")
    ],
    vault: Vault = None,
) -> None:
    """Send your envelope and its opening to a relay, which pays the gas. Run it again to see the pair's state."""
    import httpx  # noqa: PLC0415  # slow to import

    from bilateral.core.identifiers import ChainId  # noqa: PLC0415
    from bilateral.x402.aggregator.blind_client import relay_blind_rating  # noqa: PLC0415  # an extra

    (signed,) = read_envelopes(invocation, [envelope])
    opening = _own(signed, vault)
    with invocation.reading("Contacting the relay") as client:
        network = str(ChainId.evm(client.get_deployment().chain_id))
    # Nobody else can read a connection to this machine.
    http = httpx.Client(timeout=invocation.settings.timeout) if httpx.URL(url).host in _THIS_MACHINE else None
    pair = relay_blind_rating(signed, opening, network, relay=url, http=http)
    names = ("id", "client_id", "server_id", "state", "missing", "problem")
    invocation.output.results([pair], {name: field_at(name) for name in names})


def _own(signed: SignedEnvelope, vault: Path | None) -> Opening:
    opening = _stored(vault_at(vault), signed)
    if opening is None:
        raise InvalidArgumentError(
            "envelope: the vault contains no opening for this envelope: pass a different vault with --vault"
        )
    return opening


def read_envelopes(invocation: Invocation, paths: Sequence[Path]) -> list[SignedEnvelope]:
    """Read envelopes."""
    from bilateral.core.signatures.blind_messages import SignedEnvelope  # noqa: PLC0415  # slow to import

    return [SignedEnvelope.from_json(invocation.read_file(path)) for path in paths]


def _openings(
    invocation: Invocation, envelopes: Sequence[SignedEnvelope], paths: Sequence[Path] | None, vault: Path | None
) -> list[Opening]:
    from bilateral.core.signatures.blind_messages import read_opening  # noqa: PLC0415  # slow to import

    listed = [read_opening(invocation.read_file(path)) for path in paths or ()]
    stored = [_stored(vault_at(vault), signed) for signed in envelopes]
    kinds = {type(opening) for opening in listed}
    return [*listed, *(opening for opening in stored if opening is not None and type(opening) not in kinds)]


def _stored(vault: BlindVault, signed: SignedEnvelope) -> Opening | None:
    matches = [
        sealed.opening
        for sealed in vault.all()
        if sealed.signed is not None
        and type(sealed.signed.envelope) is type(signed.envelope)
        and sealed.signed.envelope.common == signed.envelope.common
        and sealed.opening.seal_for(signed.envelope) == signed.envelope.seal
    ]
    return matches[0] if matches else None


def _row(client: Client, sealed: Sealed) -> dict[str, Any]:
    from bilateral.core.signatures.blind_messages import FeedbackOpening  # noqa: PLC0415  # slow to import
    from bilateral.core.values.times import chain_time  # noqa: PLC0415

    opening_, signed = sealed.opening, sealed.signed
    is_feedback = isinstance(opening_, FeedbackOpening)
    row: dict[str, Any] = {"as": "client" if is_feedback else "server", "client": None, "server": None}
    row["sealed"] = opening_.feedback.value if isinstance(opening_, FeedbackOpening) else opening_.rating
    if signed is None:
        return row | {"until": None, "state": "not signed", "missing": "your signature", "interaction": None}
    envelope = signed.envelope
    status = client.get_blind_status(envelope.client_id, envelope.server_id)
    state, missing = _STATES[status.state.name]
    if status.pair_hash:  # remains after one side is opened
        missing = None if status.state.name == "BLIND" else "the server's opening"
        missing = missing if status.is_feedback_open else "the client's opening"
    return row | {
        "client": envelope.client_id,
        "server": envelope.server_id,
        "until": chain_time(envelope.deadline).isoformat(),
        "state": state,
        "missing": missing,
        "interaction": "0x" + envelope.interaction.hex(),
    }


_STATES = {
    "NONE": ("not sealed", "the other envelope, and its seal on chain"),
    "OPEN": ("rated openly", None),
    "SEALED": ("sealed, not opened", None),
    "BLIND": ("opened", None),
}
"""The texts for each on-chain state: the state, and what is still missing."""


_THIS_MACHINE = {"127.0.0.1", "::1", "localhost"}
