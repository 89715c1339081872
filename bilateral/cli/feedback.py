"""`bilateral feedback …`: giving feedback, reading it, averaging it, answering it, revoking it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from bilateral.cli.options import (
    Agent,
    FeedbackText,
    FileHash,
    FileUri,
    Reviewers,
    Tag1,
    Tag2,
    command,
    make_group,
    moment,
)
from bilateral.cli.session import Session
from bilateral.cli.shapes import plain
from bilateral.errors import InvalidArgumentError
from bilateral.identifiers import FeedbackId

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from bilateral.client import FeedbackEntry
    from bilateral.documents import FeedbackFile
    from bilateral.values import FeedbackValue

app = make_group("feedback", "Give feedback, read it, average it, answer it, revoke it.")

COLUMNS: Final[Mapping[str, Callable[[FeedbackEntry], Any]]] = {
    "feedback": lambda each: each.id,
    "value": lambda each: each.value,
    "tag1": lambda each: each.tag1,
    "tag2": lambda each: each.tag2,
    "revoked": lambda each: each.is_revoked,
}

Value = Annotated[
    str,
    typer.Argument(metavar="VALUE", help="A number, exactly as it is to be stored; true or false.", show_default=False),
]
Stars = Annotated[bool, typer.Option("--stars", help="Take the value as 1 to 5 stars, and the tag as starred.")]
Endpoint = Annotated[str, typer.Option("--endpoint", metavar="URI", help="What was used.")]
File = Annotated[
    Path | None,
    typer.Option("--file", metavar="FILE", help="A feedback file to complete and store; - is the standard input."),
]
Comment = Annotated[str | None, typer.Option("--text", metavar="TEXT", help="What you say; goes into a feedback file.")]
Capability = Annotated[
    str | None,
    typer.Option("--capability", metavar="KIND", help="The MCP capability used: tools, prompts or resources."),
]
Name = Annotated[str | None, typer.Option("--name", metavar="NAME", help="The name of that capability.")]
Skills = Annotated[
    list[str] | None, typer.Option("--skill", metavar="SKILL", help="An A2A skill that was used; may be repeated.")
]
Task = Annotated[str | None, typer.Option("--task", metavar="TASK", help="The A2A task.")]
Names = Annotated[
    list[str] | None, typer.Option("--name", metavar="NAME", help="A name of such a capability; may be repeated.")
]
WithRevoked = Annotated[bool, typer.Option("--revoked", help="Include revoked feedback.")]
STARRED: Final = "starred"
BINARY: Final = {"true": True, "false": False}


@dataclass(frozen=True)
class _Said:
    """What a client says by the options of `give` and `sign`."""

    value: str | bool | FeedbackValue
    tag1: str
    file: FeedbackFile | None


@command(
    app,
    "give",
    "bilateral feedback give 42 87 --tag1 starred --account alice",
    "bilateral feedback give 42 4.5 --stars --text 'fast and right' --account alice",
    "bilateral feedback give 42 -3.2 --tag1 tradingYield --tag2 week --account alice --dry-run",
    writes=True,
    stores=True,
    takes_negative_numbers=True,
)
def give(  # noqa: PLR0913, PLR0917  # as many as the user has options
    session: Session,
    agent: Agent,
    value: Value,
    stars: Stars = False,
    tag1: Tag1 = "",
    tag2: Tag2 = "",
    endpoint: Endpoint = "",
    text: Comment = None,
    capability: Capability = None,
    name: Name = None,
    skills: Skills = None,
    task: Task = None,
    file: File = None,
    uri: FileUri = "",
    file_hash: FileHash = None,
) -> None:
    """Rate an agent."""
    said = _said(
        session, value, stars, tag1, file, text=text, capability=capability, name=name, skill=skills, task=task
    )
    session.write(
        "Feedback given",
        lambda client: client.give_feedback(
            agent, said.value, said.tag1, tag2, endpoint, said.file, feedback_uri=uri, feedback_hash=file_hash
        ),
    )


@command(
    app,
    "sign",
    "bilateral feedback sign 42 87 --tag1 starred --account alice > signed.json",
    signs=True,
    stores=True,
    takes_negative_numbers=True,
)
def sign(  # noqa: PLR0913, PLR0917  # as many as the user has options
    session: Session,
    agent: Agent,
    value: Value,
    stars: Stars = False,
    tag1: Tag1 = "",
    tag2: Tag2 = "",
    endpoint: Endpoint = "",
    text: Comment = None,
    capability: Capability = None,
    name: Name = None,
    skills: Skills = None,
    task: Task = None,
    file: File = None,
    uri: FileUri = "",
    file_hash: FileHash = None,
    deadline: Annotated[
        int | None, typer.Option("--deadline", metavar="UNIX", help="Until when it may be sent; a day if left out.")
    ] = None,
) -> None:
    """Sign a feedback for somebody else to send and pay for. Writes it to the standard output, always as JSON."""
    said = _said(
        session, value, stars, tag1, file, text=text, capability=capability, name=name, skill=skills, task=task
    )
    with session.signing() as client:
        signed = client.sign_feedback(
            agent,
            said.value,
            said.tag1,
            tag2,
            endpoint,
            said.file,
            feedback_uri=uri,
            feedback_hash=file_hash,
            deadline=moment(deadline),
        )
    session.output.raw(signed.to_json())


@command(app, "submit", "bilateral feedback submit signed.json --account relay", writes=True)
def submit(
    session: Session,
    signed: Annotated[
        Path, typer.Argument(metavar="FILE", help="What sign wrote; - is the standard input.", show_default=False)
    ],
) -> None:
    """Send a feedback that its client signed, and pay for it."""
    from bilateral.client import SignedFeedback  # noqa: PLC0415  # web3.py is heavy

    feedback = SignedFeedback.from_json(session.read_file(signed))
    session.write("Feedback given", lambda client: client.submit_signed_feedback(feedback))


@command(app, "show", "bilateral feedback show 84532:42:0x8004B663056A597Dffe9eCcC1965A193B7388713:0")
def show(
    session: Session,
    feedback: FeedbackText,
    load_file: Annotated[bool, typer.Option("--load/--no-load", help="Load the feedback file.")] = True,
) -> None:
    """Show a feedback with its file and the answers to it."""
    found = FeedbackId.parse(feedback)
    with session.reading("Loading the feedback") as client:
        entry = client.get_feedback(found, load_file=load_file)
        responses = client.get_responses(found)
    session.output.result({"feedback": entry, "responses": responses}, title=f"Feedback {entry.id}")


@command(app, "list", "bilateral feedback list 42", "bilateral feedback list 42 --tag1 starred --revoked --json")
def list_feedback(  # noqa: PLR0913, PLR0917  # as many as the user has options
    session: Session,
    agent: Agent,
    reviewers: Reviewers = None,
    tag1: Tag1 = "",
    tag2: Tag2 = "",
    revoked: WithRevoked = False,
) -> None:
    """List the feedback for an agent."""
    with session.reading("Reading feedback") as client:
        found = client.read_all_feedback(agent, reviewers=reviewers, tag1=tag1, tag2=tag2, include_revoked=revoked)
    session.output.results(found, COLUMNS, none="no feedback")


@command(
    app,
    "search",
    "bilateral feedback search 42 --tag starred --min 80",
    "bilateral feedback search 42 43 --capability tools --name financial_analyzer",
)
def search(  # noqa: PLR0913, PLR0917  # as many as the user has options
    session: Session,
    agents: Annotated[
        list[str] | None,
        typer.Argument(metavar="[AGENT...]", help="Who was rated; anybody if a reviewer is named.", show_default=False),
    ] = None,
    reviewers: Reviewers = None,
    tags: Annotated[
        list[str] | None, typer.Option("--tag", metavar="TAG", help="A tag it must have; may be repeated.")
    ] = None,
    capabilities: Annotated[
        list[str] | None,
        typer.Option("--capability", metavar="KIND", help="An MCP capability its file must name; may be repeated."),
    ] = None,
    names: Names = None,
    skills: Skills = None,
    tasks: Annotated[
        list[str] | None, typer.Option("--task", metavar="TASK", help="An A2A task; may be repeated.")
    ] = None,
    lowest: Annotated[str | None, typer.Option("--min", metavar="VALUE", help="The least value.")] = None,
    highest: Annotated[str | None, typer.Option("--max", metavar="VALUE", help="The greatest value.")] = None,
    revoked: WithRevoked = False,
    load_files: Annotated[bool, typer.Option("--load", help="Load events and files too.")] = False,
) -> None:
    """Search feedback."""
    with session.reading("Searching") as client:
        found = client.search_feedback(
            agents=agents or (),
            reviewers=reviewers,
            tags=tags or (),
            capabilities=capabilities or (),
            names=names or (),
            skills=skills or (),
            tasks=tasks or (),
            min_value=lowest,
            max_value=highest,
            include_revoked=revoked,
            load_files=load_files,
        )
    columns = dict(COLUMNS) | ({"text": lambda each: each.text} if load_files else {})
    session.output.results(found, columns, none="no feedback")


@command(app, "summary", "bilateral feedback summary 42 --reviewer 0x8004B663056A597Dffe9eCcC1965A193B7388713")
def summary(session: Session, agent: Agent, reviewers: Reviewers = None, tag1: Tag1 = "", tag2: Tag2 = "") -> None:
    """Average an agent's feedback."""
    with session.reading("Averaging") as client:
        found = client.get_reputation_summary(agent, tag1, tag2, reviewers=reviewers)
    shape = plain(found) | {"stored": {"value": str(found.value), "decimals": found.decimals}}
    del shape["value"], shape["decimals"]
    session.output.result(shape, title=f"Reputation of agent {found.agent}")
    if found.is_everybody:
        session.output.note("Everybody counts here, and anybody can give any amount of feedback. Name whom you trust.")


@command(app, "clients", "bilateral feedback clients 42")
def clients(session: Session, agent: Agent) -> None:
    """List everybody who ever gave feedback for an agent."""
    with session.reading() as client:
        found = client.get_clients(agent)
    session.output.results(found, {"client": lambda each: each}, none="nobody")


@command(
    app,
    "respond",
    "bilateral feedback respond 84532:42:0x8004B663056A597Dffe9eCcC1965A193B7388713:0 --text sorry --account alice",
    writes=True,
    stores=True,
)
def respond(
    session: Session,
    feedback: FeedbackText,
    text: Annotated[str | None, typer.Option("--text", metavar="TEXT", help="The answer, to be stored.")] = None,
    uri: FileUri = "",
    file_hash: FileHash = None,
) -> None:
    """Answer a feedback."""
    from bilateral.client.inputs import ResponseLink, hash_bytes  # noqa: PLC0415  # web3.py is heavy

    if (text is None) == (not uri):
        raise InvalidArgumentError("give the answer as --text, or as --uri")
    if text == "":
        raise InvalidArgumentError("the answer is empty")
    if text is not None and file_hash is not None:
        raise InvalidArgumentError("--hash goes with --uri: that of a text is worked out")
    found = FeedbackId.parse(feedback)
    response = text if text is not None else ResponseLink(uri, hash_bytes(file_hash, "--hash"))
    session.write("Answered", lambda client: client.append_response(found, response=response))


@command(
    app,
    "revoke",
    "bilateral feedback revoke 84532:42:0x8004B663056A597Dffe9eCcC1965A193B7388713:0 --account alice",
    writes=True,
)
def revoke(session: Session, feedback: FeedbackText) -> None:
    """Revoke a feedback of the signer's, which is final."""
    found = FeedbackId.parse(feedback)
    session.write("Feedback revoked", lambda client: client.revoke_feedback(found))


def _said(session: Session, value: str, stars: bool, tag1: str, path: Path | None, **fields: Any) -> _Said:
    """What a client says by its options."""
    from bilateral.documents import FeedbackFile, prepare_feedback_file  # noqa: PLC0415  # heavy, and for few commands
    from bilateral.values import stars_to_value  # noqa: PLC0415

    given = {name: field for name, field in fields.items() if field is not None}
    if path is not None and given:
        raise InvalidArgumentError("give a file, or what is to go into one, not both")
    file = (
        FeedbackFile.from_bytes(session.read_file(path)) if path else prepare_feedback_file(**given) if given else None
    )
    if stars:
        if tag1 not in ("", STARRED):
            raise InvalidArgumentError(f"--stars rates under the tag {STARRED}: leave out --tag1, or --stars")
        return _Said(stars_to_value(value), STARRED, file)
    return _Said(BINARY.get(value, value), tag1, file)
