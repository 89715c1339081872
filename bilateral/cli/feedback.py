"""`bilateral feedback …`: give, read, average, respond to and revoke feedback."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from bilateral.cli.blind import OfferOptions, read_envelopes, vault_at
from bilateral.cli.columns import columns, quoted_tag, tag_at
from bilateral.cli.invocation import Invocation
from bilateral.cli.options import (
    Agent,
    FeedbackText,
    FileHash,
    FileUri,
    Reviewers,
    Tag1,
    Tag2,
    argument,
    command,
    flag,
    make_group,
    option,
    optional,
    parse_time,
)
from bilateral.core.errors import InvalidArgumentError, MalformedIdentifierError
from bilateral.core.identifiers import FeedbackId
from bilateral.core.text import quoted

if TYPE_CHECKING:
    from bilateral.cli.invocation import Invocation
    from bilateral.core.values import FeedbackValue
    from bilateral.documents import FeedbackFile


COLUMNS: Final = columns(
    feedback="id",
    value="value",
    tag1=tag_at("tag1"),
    tag2=tag_at("tag2"),
    revoked=lambda entry: entry.is_revoked or None,
)


Skills = Annotated[list[str] | None, option("SKILL", "An A2A skill that was used; may be repeated.", "--skill")]


WithRevoked = Annotated[bool, typer.Option("--revoked", help="Include revoked feedback.")]


STARRED: Final = "starred"


CAPABILITIES: Final = ("tools", "prompts", "resources")


BINARY: Final = {"true": True, "false": False}


@dataclass(frozen=True)
class FeedbackOptions:
    """A client's feedback, as the options of `give` and `sign` specify it."""

    value: Annotated[str, argument("VALUE", "A number, stored exactly as written, or true or false.")]
    stars: bool = flag("--stars", "Interpret the value as 1 to 5 stars, for the tag starred.")
    tag1: Tag1 = ""
    tag2: Tag2 = ""
    endpoint: str = option("URI", "The URI of the endpoint that was used.", default="")
    text: str | None = optional("TEXT", "Your comment, which is stored in a feedback file.")
    capability: str | None = optional("KIND", "The MCP capability used: tools, prompts or resources.")
    name: str | None = optional("NAME", "The name of the MCP capability.")
    skill: Skills = None
    task: str | None = optional("TASK", "The id of the A2A task.")
    file: Path | None = optional("FILE", "A feedback file to complete and store; - for standard input.")
    uri: FileUri = ""
    file_hash: FileHash = None

    @property
    def link(self) -> dict[str, Any]:
        """The URI and hash of a file hosted elsewhere, as arguments for the SDK client."""
        return {"feedback_uri": self.uri, "feedback_hash": self.file_hash}

    def content(self, invocation: Invocation) -> tuple[str | bool | FeedbackValue, str, str, str, FeedbackFile | None]:
        """Return the value, both tags, the endpoint and the feedback file."""
        from bilateral.core.values import resembled_tag, stars_to_value  # noqa: PLC0415  # slow to import

        file = self._file(invocation)
        standard = resembled_tag(self.tag1)
        if standard:
            invocation.output.note(f"The tag {quoted(self.tag1)} differs from the standard tag {quoted(standard)}.")
        if not self.stars:
            return BINARY.get(self.value, self.value), self.tag1, self.tag2, self.endpoint, file
        if self.tag1 not in ("", STARRED):
            raise InvalidArgumentError(f"--stars uses the tag {STARRED}: remove either --tag1 or --stars")
        return stars_to_value(self.value), STARRED, self.tag2, self.endpoint, file

    def _file(self, invocation: Invocation) -> FeedbackFile | None:
        """Return the feedback file if the options create or specify one."""
        from bilateral.core.text.encoding import decode_object  # noqa: PLC0415
        from bilateral.documents import FeedbackFile, prepare_feedback_file  # noqa: PLC0415  # slow to import

        names = ("text", "capability", "name", "skill", "task")
        present = {name: field for name in names if (field := getattr(self, name)) is not None}
        if present.get("capability", "tools") not in CAPABILITIES:
            choices = ", ".join(CAPABILITIES)
            raise InvalidArgumentError(f"--capability must be one of {choices}, not {quoted(present['capability'])}")
        if ("capability" in present) != ("name" in present):
            raise InvalidArgumentError(
                "--capability (the kind of MCP capability) and --name (its name) must be used together"
            )
        if self.file is None:
            return prepare_feedback_file(**present) if present else None
        if present:
            raise InvalidArgumentError("--file cannot be used with options that create a feedback file, such as --text")
        return FeedbackFile.of(decode_object(invocation.read_file(self.file)))


@dataclass(frozen=True)
class SearchOptions:
    """Filters for a feedback search, with the names that the SDK client uses."""

    reviewers: Reviewers = None
    tags: list[str] | None = optional("TAG", "A tag that the feedback must have; may be repeated.", "--tag")
    capabilities: list[str] | None = optional(
        "KIND", "An MCP capability that the file must mention; may be repeated.", "--capability"
    )
    names: list[str] | None = optional(
        "NAME", "The name of a capability that the file must mention; may be repeated.", "--name"
    )
    skills: Skills = None
    tasks: list[str] | None = optional("TASK", "The id of an A2A task; may be repeated.", "--task")
    min_value: str | None = optional("VALUE", "The minimum value.", "--min")
    max_value: str | None = optional("VALUE", "The maximum value.", "--max")
    include_revoked: WithRevoked = False
    load_files: bool = flag("--load", "Also load each entry's events and file.")

    def filters(self) -> dict[str, Any]:
        """Return the filters that are set."""
        return {name: value for name, value in vars(self).items() if value is not None}


def parse_feedback(text: str) -> FeedbackId:
    """Parse a feedback id, in which the client may be a keystore's alias: `84532:42:alice:0`."""
    agent, *rest = text.rsplit(":", 2)
    if len(rest) == 2 and not rest[0].lower().startswith("0x"):  # noqa: PLR2004  # client and index
        from bilateral.cli.keys import aliases, keystore_path, read_keystore  # noqa: PLC0415  # slow to import

        client, index = rest
        address = read_keystore(keystore_path(client))[1] if client in aliases() else None
        if address is None:
            problem = f"the client {quoted(client)} is neither an address nor an alias in `bilateral account list`"
            raise MalformedIdentifierError("a feedback id", text, problem)
        text = f"{agent}:{address}:{index}"
    return FeedbackId.parse(text)


app = make_group("feedback")


_MAX_TAGS: Final = 5  # so that the hint fits on one line


@command(app, writes=True, stores=True, takes_negative_numbers=True)
def give(invocation: Invocation, agent: Agent, feedback: FeedbackOptions, offer: OfferOptions) -> None:
    """Rate an agent. With --blind, seal the feedback and write its envelope as JSON instead."""
    if offer.blind is not None:
        return _seal(invocation, agent, feedback, offer.blind, offer.vault)
    content = feedback.content(invocation)
    return invocation.write("Feedback given", lambda client: client.give_feedback(agent, *content, **feedback.link))


def _seal(invocation: Invocation, agent: str, feedback: FeedbackOptions, offer: Path, vault: Path | None) -> None:
    content = feedback.content(invocation)
    (theirs,) = read_envelopes(invocation, [offer])
    with invocation.signing() as client:
        signed = client.seal_feedback(vault_at(vault), theirs, *content, agent_id=agent, **feedback.link)
    invocation.output.raw(signed.to_json())


@command(app, signs=True, stores=True, takes_negative_numbers=True)
def sign(
    invocation: Invocation,
    agent: Agent,
    feedback: FeedbackOptions,
    deadline: int | None = optional(
        "UNIX", "The last second at which the feedback can be sent; a day from now by default."
    ),
) -> None:
    """Sign feedback that another account sends and pays for, and print it as JSON."""
    content = feedback.content(invocation)
    with invocation.signing() as client:
        signed = client.sign_feedback(agent, *content, **feedback.link, deadline=parse_time(deadline))
    invocation.output.raw(signed.to_json())


@command(app, writes=True)
def submit(
    invocation: Invocation, signed: Annotated[Path, argument("FILE", "The output of sign; - for standard input.")]
) -> None:
    """Send feedback that a client signed, and pay for it."""
    from bilateral.client import SignedFeedback  # noqa: PLC0415  # slow to import

    feedback = SignedFeedback.from_json(invocation.read_file(signed))
    invocation.write("Feedback given", lambda client: client.submit_signed_feedback(feedback))


@command(app, writes=True)
def void(
    invocation: Invocation,
    through: Annotated[int, argument("UNIX", "The latest deadline to invalidate, in Unix seconds.")],
) -> None:
    """Invalidate the signer's signed feedback whose deadline is at or before a time. This is final."""
    deadline = parse_time(through)
    assert deadline is not None  # noqa: S101  # it is None only for None
    invocation.write("Signatures voided", lambda client: client.void_signatures(deadline))


@command(app)
def voided(invocation: Invocation, client: Annotated[str, argument("CLIENT", "The client's address.")]) -> None:
    """Show the latest deadline up to which a client has invalidated its signed feedback."""
    with invocation.reading() as reading:
        invocation.output.result({"client": client, "voided_through": reading.get_voided_deadline(client)})


@command(app)
def show(
    invocation: Invocation,
    feedback: FeedbackText,
    load_file: bool = flag("--load/--no-load", "Load the feedback file.", default=True),
) -> None:
    """Show a feedback entry with its file and the responses to it."""
    from bilateral.cli.shapes import view_of  # noqa: PLC0415  # slow to import

    feedback_id = parse_feedback(feedback)
    with invocation.reading("Loading the feedback") as client:
        entry = client.get_feedback(feedback_id, load_file=load_file)
        responses = client.get_responses(feedback_id)
    value = {"feedback": entry, "responses": responses}
    view = view_of(entry) | {"answers": view_of(responses)}
    invocation.output.result(value, view=view, title=f"Feedback {entry.id}")


@command(app, "list")
def list_feedback(  # noqa: PLR0913, PLR0917  # as many as the user has options
    invocation: Invocation,
    agent: Agent,
    reviewers: Reviewers = None,
    tag1: Tag1 = "",
    tag2: Tag2 = "",
    revoked: WithRevoked = False,
) -> None:
    """List the feedback for an agent."""
    with invocation.reading("Reading feedback") as client:
        all_feedback = client.read_all_feedback(
            agent, reviewers=reviewers, tag1=tag1, tag2=tag2, include_revoked=revoked
        )
    invocation.output.results(all_feedback, COLUMNS, none="no feedback")


@command(app)
def search(
    invocation: Invocation,
    options: SearchOptions,
    agents: list[str] | None = argument(
        "[AGENT...]", "The rated agents; if --reviewer is passed, all agents by default.", default=None
    ),
) -> None:
    """Search feedback."""
    with invocation.reading("Searching") as client:
        matches = client.search_feedback(agent_ids=agents or (), **options.filters())
    columns = dict(COLUMNS) | ({"text": lambda entry: entry.text} if options.load_files else {})
    invocation.output.results(matches, columns, none="no feedback")


@command(app)
def summary(
    invocation: Invocation, agent: Agent, reviewers: Reviewers = None, tag1: Tag1 = "", tag2: Tag2 = ""
) -> None:
    """Average an agent's feedback."""
    from bilateral.cli.json_values import plain  # noqa: PLC0415  # slow to import
    from bilateral.cli.shapes import view_of  # noqa: PLC0415

    with invocation.reading("Averaging") as client:
        summary = client.get_reputation_summary(agent, tag1, tag2, reviewers=reviewers)
    shape = plain(summary) | {"stored": {"value": str(summary.value), "decimals": summary.decimals}}
    del shape["value"], shape["decimals"]
    invocation.output.result(shape, view=view_of(summary), title=f"Reputation of agent {summary.agent}")
    if summary.mixed_tags:
        tags = ", ".join(quoted_tag(tag) for tag in summary.mixed_tags[:_MAX_TAGS])
        invocation.output.note(f"This average combines values with different tags: {tags}. Choose one with --tag1.")
    if summary.is_computed_here:
        invocation.output.note(
            "The node rejected the registry's computation as too large, so the same average was computed locally."
        )
    if summary.is_everybody:
        invocation.output.note(
            "This average counts feedback from everyone, and anyone can give any amount of feedback. "
            "Choose the clients that you trust with --reviewer."
        )


@command(app)
def clients(invocation: Invocation, agent: Agent) -> None:
    """List all clients that have given feedback for an agent."""
    with invocation.reading() as client:
        clients = client.get_clients(agent)
    invocation.output.results(clients, {"client": lambda entry: entry}, none="no clients")


@command(app, writes=True, stores=True)
def respond(
    invocation: Invocation,
    feedback: FeedbackText,
    text: str | None = optional("TEXT", "The text of the response, which is stored as a file."),
    uri: FileUri = "",
    file_hash: FileHash = None,
) -> None:
    """Respond to a feedback entry."""
    from bilateral.client.state import ResponseLink, hash_bytes  # noqa: PLC0415  # slow to import

    if (text is None) == (not uri):
        raise InvalidArgumentError("pass exactly one of --text and --uri")
    if text == "":
        raise InvalidArgumentError("--text must not be empty")
    if text is not None and file_hash is not None:
        raise InvalidArgumentError("--hash requires --uri and cannot be combined with --text")
    feedback_id = parse_feedback(feedback)
    response = text if text is not None else ResponseLink(uri, hash_bytes(file_hash, "--hash"))
    invocation.write("Answered", lambda client: client.append_response(feedback_id, response=response))


@command(app, writes=True)
def revoke(invocation: Invocation, feedback: FeedbackText) -> None:
    """Revoke one of the signer's feedback entries. This is final."""
    feedback_id = parse_feedback(feedback)
    invocation.write("Feedback revoked", lambda client: client.revoke_feedback(feedback_id))
