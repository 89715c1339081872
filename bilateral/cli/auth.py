"""`bilateral auth …`: feedback that the agent's owner authorises (FeedbackAuth)."""

from __future__ import annotations

from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from eth_abi.abi import encode

from bilateral.cli.agent import hexadecimal
from bilateral.cli.options import Agent, FileHash, FileUri, Tag1, Tag2, command, make_group, moment
from bilateral.cli.session import Session
from bilateral.errors import InvalidArgumentError, MissingRegistryError, NodeError
from bilateral.signatures import Domain, decode_feedback_auth, recover_feedback_auth_signer

app = make_group("auth", "Authorise feedback as an agent's owner, give it as a client, look at it.")

_IS_VALID_SIGNATURE: Final = bytes.fromhex("1626ba7e")
"""The selector of ERC-1271's `isValidSignature(bytes32,bytes)`, and the answer that accepts."""

_SECONDS: Final = 30.0
"""For how long a node is waited for, as by `Client`."""

Client = Annotated[str, typer.Argument(metavar="CLIENT", help="The client's address.", show_default=False)]
Authorization = Annotated[
    str,
    typer.Argument(
        metavar="AUTH", help="What create wrote, in hexadecimal digits; - is the standard input.", show_default=False
    ),
]


@command(
    app,
    "create",
    "bilateral auth create 42 0x8004B663056A597Dffe9eCcC1965A193B7388713 --count 3 --account alice",
    signs=True,
)
def create(  # noqa: PLR0913, PLR0917  # as many as the user has options
    session: Session,
    agent: Agent,
    client: Client,
    count: Annotated[int, typer.Option("--count", min=1, metavar="N", help="How much feedback, from now on.")] = 1,
    index_limit: Annotated[
        int | None,
        typer.Option("--index-limit", metavar="N", help="What the client's index must stay below, instead of --count."),
    ] = None,
    expiry: Annotated[
        int | None, typer.Option("--expiry", metavar="UNIX", help="Until when; a day if left out.")
    ] = None,
) -> None:
    """Authorise a client to rate an agent, as the agent's owner. Sends nothing; writes what the client needs."""
    with session.signing() as it:
        authorization = it.authorize_feedback(
            agent,
            client,
            count=count,
            index_limit=index_limit,
            expiry=moment(expiry),
        )
    if session.output.as_json:
        session.output.result(_shape(authorization.encoded))
    else:
        session.output.raw(str(authorization))


@command(app, "show", "bilateral auth show 0x0000…", "bilateral auth create 42 0x8004… | bilateral auth show -")
def show(session: Session, authorization: Authorization) -> None:
    """Take an authorisation apart; with a node, tell also who signed it and whether that is the agent's owner.

    Of an owner that is a contract, the contract tells.
    """
    encoded = _encoded(session, authorization)
    value = _shape(encoded)
    if session.settings.rpc_url:
        value |= _checked(session, encoded)
    session.output.result(value, title="Authorisation")


@command(
    app,
    "give",
    "bilateral auth give 42 92 0x0000… --tag1 quality --account bob",
    writes=True,
    stores=True,
)
def give(  # noqa: PLR0913, PLR0917  # as many as the user has options
    session: Session,
    agent: Agent,
    score: Annotated[int, typer.Argument(metavar="SCORE", help="0 to 100.", show_default=False)],
    authorization: Authorization,
    tag1: Tag1 = "",
    tag2: Tag2 = "",
    uri: FileUri = "",
    file_hash: FileHash = None,
    text: Annotated[
        str | None, typer.Option("--text", metavar="TEXT", help="What you say; goes into a feedback file.")
    ] = None,
) -> None:
    """Rate an agent, as a client whom its owner has authorised."""
    from bilateral.documents import prepare_feedback_file  # noqa: PLC0415  # heavy, and for few commands

    encoded = _encoded(session, authorization)
    file = None if text is None else prepare_feedback_file(text=text)
    session.write(
        "Feedback given",
        lambda client: client.give_authorized_feedback(
            agent, score, encoded, tag1=tag1, tag2=tag2, file=file, file_uri=uri, file_hash=file_hash
        ),
    )


@command(app, "list", "bilateral auth list 42 --limit 20")
def list_feedback(
    session: Session,
    agent: Agent,
    client: Annotated[
        str | None, typer.Option("--client", metavar="ADDRESS", help="Whose feedback; everybody's if left out.")
    ] = None,
    offset: Annotated[int, typer.Option("--offset", min=0, metavar="N", help="How much to pass over.")] = 0,
    limit: Annotated[int | None, typer.Option("--limit", min=1, metavar="N", help="How much to read at most.")] = None,
) -> None:
    """List the authorised feedback for an agent, oldest first."""
    with session.reading("Reading feedback") as it:
        found = it.get_authorized_feedback(agent, client_address=client, offset=offset, limit=limit)
    session.output.results(
        found,
        {
            "position": lambda each: each.position,
            "client": lambda each: each.client,
            "score": lambda each: each.score,
            "tag1": lambda each: each.tag1,
            "tag2": lambda each: each.tag2,
            "given": lambda each: each.given_at,
        },
        none="no feedback",
    )


@command(app, "summary", "bilateral auth summary 42")
def summary(session: Session, agent: Agent) -> None:
    """Average all authorised feedback of an agent."""
    with session.reading() as client:
        found = client.get_authorized_summary(agent)
    session.output.result(found, title=f"Authorised feedback of agent {found.agent}")


def _encoded(session: Session, text: str) -> bytes:
    """The authorisation that a user names, once it is known to be one."""
    is_text = text != "-"
    encoded = hexadecimal(text if is_text else session.read_file(Path(text)).decode(errors="replace").strip())
    decode_feedback_auth(encoded)
    return encoded


def _shape(encoded: bytes) -> dict[str, Any]:
    """An authorisation taken apart. Its numbers may be of any size, so the large ones are text.

    So is an expiry in Unix seconds that no calendar reaches.
    """
    auth, signature = decode_feedback_auth(encoded)
    try:
        expiry: Any = moment(auth.expiry)
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


def _checked(session: Session, encoded: bytes) -> dict[str, Any]:
    """Who signed it, and whether that is the agent's owner, as the registry decides it: by key, else by contract."""
    auth, signature = decode_feedback_auth(encoded)
    with session.reading() as client:
        deployment = client.get_deployment()
        if deployment.authorized is None:
            raise MissingRegistryError("authorized", deployment.chain_id)
        owner = client.get_agent_owner(auth.agent_id)
    domain = Domain(deployment.chain_id, deployment.authorized)  # type: ignore[arg-type]  # it is checksummed
    signer = recover_feedback_auth_signer(auth, signature, domain)
    is_owners = signer == owner or _accepts(session, owner, domain, auth.digest(domain), signature)
    return {
        "signer": owner if is_owners else signer,
        "owner": owner,
        "is_signed_by_owner": is_owners,
        "is_for_this_chain": auth.chain_id == deployment.chain_id,
        "is_expired": auth.expiry < datetime.now(UTC).timestamp(),
    }


def _accepts(session: Session, owner: str, domain: Domain, digest: bytes, signature: bytes) -> bool | None:
    """Whether an agent's owner is a contract that accepts a signature, asked as the registry asks it (ERC-1271).

    Returns:
        None if the node reports another error than a revert, as it does of a contract that uses up all gas.
    """
    from bilateral.client.core import answers  # noqa: PLC0415  # web3.py is heavy
    from bilateral.client.transport import Transport  # noqa: PLC0415

    question = _IS_VALID_SIGNATURE + encode(["bytes32", "bytes"], [digest, signature])
    call = {"from": domain.verifying_contract, "to": owner, "data": f"0x{question.hex()}"}
    with closing(Transport(str(session.settings.rpc_url), _SECONDS)) as node:
        try:
            answer = answers.data(node.request("eth_call", [call, "latest"]))
        except NodeError as error:
            return None if answers.revert_of(error) is None else False
    return answer[:32] == _IS_VALID_SIGNATURE.ljust(32, b"\0")
