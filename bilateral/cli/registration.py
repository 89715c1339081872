"""Registration files made from options."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bilateral.core.errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bilateral.cli.invocation import Invocation
    from bilateral.documents import RegistrationFile


@dataclass(frozen=True)
class FileOptions:
    """The options that make a registration file, or change it."""

    name: Annotated[str | None, typer.Option(metavar="NAME", help="The name in the registration file.")] = None
    description: Annotated[str | None, typer.Option(metavar="TEXT", help="Its description.")] = None
    image: Annotated[str | None, typer.Option(metavar="URI", help="The URI of its picture.")] = None
    services: Annotated[
        list[str] | None,
        typer.Option("--service", metavar="NAME=ENDPOINT", help="A service of it, such as MCP; may be repeated."),
    ] = None

    @property
    def words(self) -> dict[str, Any]:
        """The name, the description and the picture."""
        return {"name": self.name, "description": self.description, "image": self.image}

    def file(self) -> RegistrationFile | None:
        """Return a new registration file; None without any option.

        Raises:
            InvalidArgumentError: An option is missing, or a service has no name or no endpoint.
        """
        from bilateral.documents import RegistrationFile  # noqa: PLC0415  # slow to import

        if not (any(self.words.values()) or self.services):
            return None
        if not all(self.words.values()):
            raise InvalidArgumentError("a registration file needs --name, --description and --image")
        return RegistrationFile.new(**self.words, services=services_of(self.services or ()))


def services_of(services: Sequence[str]) -> list[dict[str, str]]:
    """Return services as objects of a registration file.

    Args:
        services: The services, each as NAME=ENDPOINT.

    Raises:
        InvalidArgumentError: A service has no name or no endpoint.
    """
    pairs = [service.partition("=") for service in services]
    if not all(kind and endpoint for kind, _, endpoint in pairs):
        raise InvalidArgumentError("a service is given as NAME=ENDPOINT, such as MCP=https://agent.example/mcp")
    return [{"name": kind, "endpoint": endpoint} for kind, _, endpoint in pairs]


def register_new(invocation: Invocation, file: RegistrationFile, metadata: dict[str, str]) -> None:
    """Register an agent with a file, then add its id to the file by a second transaction.

    Args:
        invocation: The run of the command.
        file: The registration file.
        metadata: Metadata to keep on chain.
    """
    if invocation.settings.dry_run or not invocation.settings.wait:
        invocation.write("Agent registered", lambda client: client.register_agent(file=file, metadata=metadata))
        return
    with invocation.client() as client:
        handle = invocation.send(lambda: client.register_agent(metadata=metadata))
        invocation.output.sent = [str(handle.hash)]
        invocation.output.note(f"sent {handle.hash}")
        registered = invocation.wait_for(handle.wait)
        confirmation = invocation.send(lambda: client.set_agent_uri(registered.agent, file=file))
        invocation.output.sent.append(str(confirmation.hash))
        invocation.output.note(f"sent {confirmation.hash}")
        uri_set = invocation.wait_for(confirmation.wait)
    value = {
        "hash": handle.hash,
        "gas": handle.gas,
        "transaction": None,
        "result": registered,
        "confirmation": {"hash": confirmation.hash, "gas": confirmation.gas, "result": uri_set},
    }
    view = {
        "agent": registered.agent,
        "owner": registered.owner,
        "uri": uri_set.uri,
        "transaction": handle.hash,
        "confirmed by": confirmation.hash,
    }
    invocation.output.result(value, title="Agent registered", view=view)
