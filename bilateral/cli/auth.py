"""`bilateral auth …`: feedback that the agent's owner authorises (FeedbackAuth)."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

from bilateral.cli.agent import hexadecimal
from bilateral.cli.columns import columns, tag_at
from bilateral.cli.invocation import Invocation
from bilateral.cli.options import (
    Agent,
    FileHash,
    FileUri,
    Tag1,
    Tag2,
    argument,
    command,
    make_group,
    option,
    optional,
    parse_time,
)
from bilateral.core.errors import InvalidArgumentError, MissingRegistryError, NodeError

app = make_group("auth")

Client = Annotated[str, argument("CLIENT", "The client's address.")]
Authorization = Annotated[str, argument("AUTH", "The output of `auth create`, in hexadecimal; - for standard input.")]


@command(app, signs=True)
def create(  # noqa: PLR0913, PLR0917  # as many as the user has options
    invocation: Invocation,
    agent: Agent,
    client: Client,
    count: int = option("N", "The number of feedback entries allowed from now on.", default=1, min=1),
    last_index: int = option(
        "N",
        "The number of feedback entries that the client has given so far; must match the number on chain.",
        default=0,
        min=0,
    ),
    index_limit: int | None = optional(
        "N", "Allow feedback while the client's feedback index is below N, instead of --count and --last-index."
    ),
    expiry: int | None = optional(
        "UNIX", "The last second at which the authorisation is valid; a day from now by default."
    ),
) -> None:
    """As an agent's owner, authorise a client to rate it. Prints the authorisation and sends no transaction."""
    with invocation.signing() as signing:
        authorization = signing.authorize_feedback(
            agent, client, count=count, last_index=last_index, index_limit=index_limit, expiry=parse_time(expiry)
        )
    if invocation.output.as_json:
        invocation.output.result(_shape(authorization.encoded))
    else:
        invocation.output.raw(str(authorization))


@command(app)
def show(invocation: Invocation, authorization: Authorization) -> None:
    """Show an authorisation's fields. With a node, also check that the agent's owner signed it.

    If the owner is a contract, the contract itself checks the signature.
    """
    encoded = _encoded(invocation, authorization)
    value = _shape(encoded)
    if invocation.settings.rpc_url:
        value |= _checked(invocation, encoded)
    invocation.output.result(value, title="Authorisation")


@command(app, writes=True, stores=True)
def give(  # noqa: PLR0913, PLR0917  # as many as the user has options
    invocation: Invocation,
    score: Annotated[int, argument("SCORE", "The score to give, from 0 to 100.")],
    authorization: Authorization,
    tag1: Tag1 = "",
    tag2: Tag2 = "",
    uri: FileUri = "",
    file_hash: FileHash = None,
    text: str | None = optional("TEXT", "Your comment, which is stored in a feedback file."),
) -> None:
    """As a client, rate an agent with its owner's authorisation."""
    from bilateral.core.signatures import decode_feedback_auth  # noqa: PLC0415
    from bilateral.documents import prepare_feedback_file  # noqa: PLC0415  # slow to import

    encoded = _encoded(invocation, authorization)
    agent = decode_feedback_auth(encoded)[0].agent_id
    file = None if text is None else prepare_feedback_file(text=text)
    invocation.write(
        "Feedback given",
        lambda client: client.give_authorized_feedback(
            agent, score, encoded, tag1=tag1, tag2=tag2, file=file, file_uri=uri, file_hash=file_hash
        ),
    )


@command(app, "list")
def list_feedback(
    invocation: Invocation,
    agent: Agent,
    client: str | None = optional("ADDRESS", "The client that gave the feedback; all clients by default."),
    offset: int = option("N", "The number of entries to skip.", default=0, min=0),
    limit: int | None = optional("N", "The maximum number of entries to read.", min=1),
) -> None:
    """List the authorised feedback for an agent, oldest first."""
    with invocation.reading("Reading feedback") as reading:
        feedback = reading.get_authorized_feedback(agent, client_address=client, offset=offset, limit=limit)
    invocation.output.results(
        feedback,
        columns("position", "client", "score", tag1=tag_at("tag1"), tag2=tag_at("tag2"), given="given_at"),
        none="no feedback",
    )


@command(app)
def summary(invocation: Invocation, agent: Agent) -> None:
    """Average all authorised feedback for an agent."""
    with invocation.reading() as client:
        summary = client.get_authorized_summary(agent)
    invocation.output.result(summary, title=f"Authorised feedback of agent {summary.agent}")


def _encoded(invocation: Invocation, text: str) -> bytes:
    """Return the bytes of the authorisation that the user passed, and check their format."""
    from bilateral.core.signatures import decode_feedback_auth  # noqa: PLC0415  # slow to import

    is_text = text != "-"
    encoded = hexadecimal(text if is_text else invocation.read_file(Path(text)).decode(errors="replace").strip())
    decode_feedback_auth(encoded)
    return encoded


def _shape(encoded: bytes) -> dict[str, Any]:
    """Return an authorisation's fields. Large numbers, and expiries after the year 9999, become strings."""
    from bilateral.core.signatures import decode_feedback_auth  # noqa: PLC0415  # slow to import

    auth, signature = decode_feedback_auth(encoded)
    try:
        expiry: Any = parse_time(auth.expiry)
    except InvalidArgumentError:
        expiry = str(auth.expiry)
    return {
        "agent_id": str(auth.agent_id),
        "client": auth.client_address,
        "index_limit": auth.index_limit,
        "expiry": expiry,
        "chain_id": str(auth.chain_id),
        "signature": signature,
        "encoded": encoded,
    }


def _checked(invocation: Invocation, encoded: bytes) -> dict[str, Any]:
    """Return the signer, and whether the owner signed. As in the registry, check the key first, then ERC-1271."""
    from bilateral.core.signatures import Domain, decode_feedback_auth, recover_feedback_auth_signer  # noqa: PLC0415  # slow to import

    auth, signature = decode_feedback_auth(encoded)
    with invocation.reading() as client:
        deployment = client.get_deployment()
        if deployment.authorized is None:
            raise MissingRegistryError("authorized", deployment.chain_id)
        owner = client.get_agent_owner(auth.agent_id)
        domain = Domain(deployment.chain_id, deployment.authorized)  # type: ignore[arg-type]  # it is checksummed
        signer = recover_feedback_auth_signer(auth, signature, domain)
        try:
            is_owners: bool | None = client.is_valid_signature(
                owner, auth.digest(domain), signature, verifier=deployment.authorized
            )
        except NodeError:  # for example, a contract that uses up all gas
            is_owners = None
    return {
        "signer": owner if is_owners else signer,
        "owner": owner,
        "is_signed_by_owner": is_owners,
        "is_for_this_chain": auth.chain_id == deployment.chain_id,
        "is_expired": auth.expiry < datetime.now(UTC).timestamp(),
    }
