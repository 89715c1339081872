"""The options that commands on feedback share, and the columns of their tables."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from bilateral.cli.columns import columns, tag_at
from bilateral.cli.help import argument, flag, option, optional
from bilateral.cli.options import FileHash, FileUri, Reviewers, Tag1, Tag2
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
    """A client's feedback by the options of `give` and `sign`."""

    value: Annotated[str, argument("VALUE", "A number, stored exactly as written; or true or false.")]
    stars: bool = flag("--stars", "Take the value as 1 to 5 stars, and the tag as starred.")
    tag1: Tag1 = ""
    tag2: Tag2 = ""
    endpoint: str = option("URI", "The URI of the endpoint that was used.", default="")
    text: str | None = optional("TEXT", "Your comment; it goes into a feedback file.")
    capability: str | None = optional("KIND", "The MCP capability used: tools, prompts or resources.")
    name: str | None = optional("NAME", "The name of that capability.")
    skill: Skills = None
    task: str | None = optional("TASK", "The A2A task.")
    file: Path | None = optional("FILE", "A feedback file to complete and store; - is the standard input.")
    uri: FileUri = ""
    file_hash: FileHash = None

    @property
    def link(self) -> dict[str, Any]:
        """The URI and the hash of a file that is kept elsewhere, as the client takes them."""
        return {"feedback_uri": self.uri, "feedback_hash": self.file_hash}

    def content(self, invocation: Invocation) -> tuple[str | bool | FeedbackValue, str, str, str, FeedbackFile | None]:
        """Return the value, both tags, the endpoint and the file."""
        from bilateral.core.values import resembled_tag, stars_to_value  # noqa: PLC0415  # slow to import

        file = self._file(invocation)
        standard = resembled_tag(self.tag1)
        if standard:
            invocation.output.note(f"The tag {quoted(self.tag1)} is not the standard tag {quoted(standard)}.")
        if not self.stars:
            return BINARY.get(self.value, self.value), self.tag1, self.tag2, self.endpoint, file
        if self.tag1 not in ("", STARRED):
            raise InvalidArgumentError(f"--stars rates under the tag {STARRED}: leave out --tag1, or --stars")
        return stars_to_value(self.value), STARRED, self.tag2, self.endpoint, file

    def _file(self, invocation: Invocation) -> FeedbackFile | None:
        """Return the feedback file, if the options make or name one."""
        from bilateral.core.text.encoding import decode_object  # noqa: PLC0415
        from bilateral.documents import FeedbackFile, prepare_feedback_file  # noqa: PLC0415  # slow to import

        names = ("text", "capability", "name", "skill", "task")
        present = {name: field for name in names if (field := getattr(self, name)) is not None}
        if present.get("capability", "tools") not in CAPABILITIES:
            choices = ", ".join(CAPABILITIES)
            raise InvalidArgumentError(f"--capability is {choices}, not {quoted(present['capability'])}")
        if ("capability" in present) != ("name" in present):
            raise InvalidArgumentError(
                "--capability and --name go together: the kind of the MCP capability, and its name"
            )
        if self.file is None:
            return prepare_feedback_file(**present) if present else None
        if present:
            raise InvalidArgumentError(
                "--file excludes the options that make a feedback file, such as --text: leave one out"
            )
        return FeedbackFile.of(decode_object(invocation.read_file(self.file)))


@dataclass(frozen=True)
class SearchOptions:
    """The filters of a search of feedback, as the client names them."""

    reviewers: Reviewers = None
    tags: list[str] | None = optional("TAG", "A tag it must have; may be repeated.", "--tag")
    capabilities: list[str] | None = optional(
        "KIND", "An MCP capability its file must name; may be repeated.", "--capability"
    )
    names: list[str] | None = optional("NAME", "A name of such a capability; may be repeated.", "--name")
    skills: Skills = None
    tasks: list[str] | None = optional("TASK", "An A2A task; may be repeated.", "--task")
    min_value: str | None = optional("VALUE", "The least value.", "--min")
    max_value: str | None = optional("VALUE", "The greatest value.", "--max")
    include_revoked: WithRevoked = False
    load_files: bool = flag("--load", "Load events and files too.")

    def filters(self) -> dict[str, Any]:
        """Return the filters that are set."""
        return {name: value for name, value in vars(self).items() if value is not None}


def parse_feedback(text: str) -> FeedbackId:
    """Parse the id of a feedback, of which the client may be the alias of a keystore: `84532:42:alice:0`."""
    agent, *named = text.rsplit(":", 2)
    if len(named) == 2 and not named[0].lower().startswith("0x"):  # noqa: PLR2004  # client and index
        from bilateral.cli.keys import aliases, keystore_path, read_keystore  # noqa: PLC0415  # slow to import

        client, index = named
        address = read_keystore(keystore_path(client))[1] if client in aliases() else None
        if address is None:
            problem = f"the client {quoted(client)} is neither an address nor in bilateral account list"
            raise MalformedIdentifierError("a feedback id", text, problem)
        text = f"{agent}:{address}:{index}"
    return FeedbackId.parse(text)
