"""Registration files made from options."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bilateral.errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bilateral.cli.invocation import Invocation
    from bilateral.documents import RegistrationFile


def new_file(name: str, description: str, image: str, services: Sequence[str]) -> RegistrationFile:
    """Return a new registration file.

    Args:
        name: The agent's name.
        description: Its description.
        image: The URI of its picture.
        services: Its services, each as NAME=ENDPOINT.

    Raises:
        InvalidArgumentError: A service has no name or no endpoint.
    """
    from bilateral.documents import RegistrationFile  # noqa: PLC0415  # slow to import

    return RegistrationFile.new(name, description, image, services=services_of(services))


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
