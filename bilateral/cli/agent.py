"""`bilateral agent …`: register, show, change and transfer agents."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

from bilateral.cli.invocation import Invocation
from bilateral.cli.keys import key_of_variable, open_keystore
from bilateral.cli.options import Agent, argument, command, flag, make_group, option, optional, parse_time
from bilateral.core.errors import InvalidArgumentError
from bilateral.core.identifiers import checksummed
from bilateral.core.text import printable, quoted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bilateral.client.state import TransactionSigner
    from bilateral.documents import RegistrationFile

app = make_group("agent")

WALLET_KEY_VARIABLE: Final = "BILATERAL_WALLET_PRIVATE_KEY"

Uri = Annotated[str, argument("[URI]", "The URI of the registration file.")]
File = Annotated[
    Path | None, option("FILE", "A registration file to store, instead of a URI; - for standard input.", "--file")
]


@dataclass(frozen=True)
class FileOptions:
    """The options that create or change a registration file."""

    name: str | None = optional("NAME", "The name in the registration file.")
    description: str | None = optional("TEXT", "The agent's description.")
    image: str | None = optional("URI", "The URI of the agent's picture.")
    services: list[str] | None = optional(
        "NAME=ENDPOINT", "One of the agent's services, such as MCP; may be repeated.", "--service"
    )

    @property
    def words(self) -> dict[str, Any]:
        """The agent's name, description and image."""
        return {"name": self.name, "description": self.description, "image": self.image}

    def file(self) -> RegistrationFile | None:
        """Return a new registration file, or None if no option is set."""
        from bilateral.documents import RegistrationFile  # noqa: PLC0415  # slow to import

        if not (any(self.words.values()) or self.services):
            return None
        if not all(self.words.values()):
            raise InvalidArgumentError("a registration file needs --name, --description and --image")
        return RegistrationFile.new(**self.words, services=services_of(self.services or ()))


@command(app, writes=True, stores=True)
def register(  # noqa: PLR0913, PLR0917  # as many as the user has options
    invocation: Invocation,
    description: FileOptions,
    uri: Uri = "",
    file: File = None,
    domain: str = option("DOMAIN", "Register under a domain, without a URI (August 2025 draft).", default=""),
    metadata: list[str] | None = optional("KEY=VALUE", "Metadata to store on chain; may be repeated."),
) -> None:
    """Register an agent that the signer owns. With --name, also create its registration file."""
    if (new := description.file()) is not None:
        if uri or file or domain:
            raise InvalidArgumentError(
                "--name creates a registration file, so it cannot be used with a URI, --file or --domain"
            )
        register_new(invocation, new, _metadata(metadata or ()))
        return
    if domain:
        if uri or file or metadata:
            raise InvalidArgumentError("--domain cannot be used with a URI, --file or --metadata")
        invocation.write("Agent registered", lambda client: client.new_agent(domain))
        return
    entries = _metadata(metadata or ())
    document = _registration(invocation, file)
    invocation.write("Agent registered", lambda client: client.register_agent(uri, file=document, metadata=entries))


@command(app)
def show(
    invocation: Invocation,
    agent: Agent,
    load_file: bool = flag("--load/--no-load", "Load the registration file.", default=True),
) -> None:
    """Show an agent and its registration file."""
    with invocation.reading("Loading the agent") as client:
        loaded = client.load_agent(agent, load_file=load_file)
    invocation.output.result(loaded, title=f"Agent {loaded.id}")
    if loaded.file and not loaded.is_confirmed:
        invocation.output.note("The file does not list this agent, so somebody else may have written it.")


@command(app, writes=True, stores=True)
def set_uri(
    invocation: Invocation,
    agent: Agent,
    uri: str | None = argument("[URI]", 'The URI of the registration file; "" removes it.', default=None),
    file: File = None,
) -> None:
    """Replace the URI of an agent's registration file."""
    if (uri is None) == (file is None):
        raise InvalidArgumentError("pass exactly one of the registration file's URI and --file")
    document = _registration(invocation, file)
    invocation.write("URI replaced", lambda client: client.set_agent_uri(agent, uri or "", file=document))


@command(app, writes=True, stores=True)
def edit(
    invocation: Invocation,
    agent: Agent,
    description: FileOptions,
    removed: list[str] | None = optional("NAME", "The service to remove; may be repeated.", "--remove-service"),
) -> None:
    """Change fields of an agent's registration file. A new service replaces an existing one with the same name."""
    added = services_of(description.services or ())
    invocation.write(
        "Registration file changed",
        lambda client: client.edit_registration(
            agent, **description.words, add_services=added, remove_services=removed or ()
        ),
    )


@command(app, writes=True)
def set_wallet(  # noqa: PLR0913, PLR0917  # as many as the user has options
    invocation: Invocation,
    agent: Agent,
    wallet: Annotated[str, argument("WALLET", "The wallet's address.")],
    wallet_account: str | None = optional(
        "ALIAS",
        f"The wallet's keystore, if the wallet is not the signer; by default, the key in {WALLET_KEY_VARIABLE}.",
    ),
    wallet_passphrase_file: Path | None = optional(
        "FILE", "A file containing the passphrase of the wallet's keystore."
    ),
    signature: str | None = optional("HEX", "The wallet's signature, if it was made in advance."),
    deadline: int | None = optional("UNIX", "The last second at which the wallet's signature is valid."),
) -> None:
    """Set the wallet that receives an agent's payments; the wallet must consent."""
    wallet_signer: TransactionSigner | None = None
    if signature is None and wallet_account is not None:
        wallet_signer = open_keystore(wallet_account, wallet_passphrase_file, invocation.output.ask)
    elif signature is None and checksummed(wallet) != invocation.signer.address:
        wallet_signer = key_of_variable(WALLET_KEY_VARIABLE, "--wallet-account")
    invocation.write(
        "Wallet set",
        lambda client: client.set_agent_wallet(
            agent,
            wallet,
            new_wallet_signer=wallet_signer,
            deadline=parse_time(deadline),
            signature=None if signature is None else hexadecimal(signature),
        ),
    )


@command(app, writes=True)
def unset_wallet(invocation: Invocation, agent: Agent) -> None:
    """Remove an agent's wallet."""
    invocation.write("Wallet unset", lambda client: client.unset_agent_wallet(agent))


@command(app)
def metadata(invocation: Invocation, agent: Agent, key: Annotated[str, argument("KEY", "The metadata's key.")]) -> None:
    """Show one of an agent's metadata values."""
    with invocation.reading() as client:
        value = client.get_metadata(agent, key)
    invocation.output.result({"key": key, "value": value, "text": _text(value)})


@command(app, writes=True)
def set_metadata(
    invocation: Invocation,
    agent: Agent,
    key: Annotated[str, argument("KEY", "The metadata's key.")],
    value: Annotated[str, argument("VALUE", "The value, as text.")],
    is_hex: bool = flag("--hex", "Interpret the value as hexadecimal digits."),
) -> None:
    """Set one of an agent's metadata values."""
    content = hexadecimal(value) if is_hex else value
    invocation.write("Metadata set", lambda client: client.set_metadata(agent, key, content))


@command(app, writes=True)
def transfer(
    invocation: Invocation, agent: Agent, new_owner: Annotated[str, argument("ADDRESS", "The new owner.")]
) -> None:
    """Transfer an agent to another owner."""
    invocation.write("Agent transferred", lambda client: client.transfer_agent(agent, new_owner))


@command(app)
def resolve(
    invocation: Invocation,
    name: Annotated[str, argument("DOMAIN|ADDRESS", "The domain or address to look up.")],
    entry: bool = flag("--entry", "For an address too, only show its entry in the directory (August 2025 draft)."),
) -> None:
    """Find the agent registered under a domain, or the primary agent of an address."""
    with invocation.reading() as client:
        if name.lower().startswith("0x") and entry:
            invocation.output.result(client.resolve_by_address(name), title=f"Address {printable(name)}")
        elif name.lower().startswith("0x"):
            rater = client.resolve_rater(name)
            invocation.output.result(rater, title=f"Address {rater.address}")
        else:
            invocation.output.result(client.resolve_by_domain(name), title=f"Domain {printable(name)}")


@command(app, writes=True)
def update(
    invocation: Invocation,
    agent: Agent,
    domain: str = option("DOMAIN", "The new domain.", default=""),
    address: str | None = optional("ADDRESS", "The new owner."),
) -> None:
    """Change an agent's domain, or transfer the agent to a different address (August 2025 draft)."""
    if not domain and address is None:
        raise InvalidArgumentError("pass --domain, --address or both")
    invocation.write("Agent updated", lambda client: client.update_agent(agent, domain=domain, address=address))


@command(app, writes=True)
def release_domain(invocation: Invocation, agent: Agent) -> None:
    """Release an agent's domain, so that others can register it (August 2025 draft)."""
    invocation.write("Domain released", lambda client: client.release_agent_domain(agent))


@command(app, writes=True)
def set_primary(invocation: Invocation, agent: Agent) -> None:
    """Choose the agent that the signer rates as, its primary agent."""
    invocation.write("Primary agent chosen", lambda client: client.set_primary_agent(agent))


@command(app, writes=True)
def prove(invocation: Invocation, agent: Agent) -> None:
    """Record in a companion contract that an agent exists, so that batches of ratings can include it."""
    invocation.write("Agent proven", lambda client: client.prove_agent(agent))


@command(app)
def can_act(invocation: Invocation, account: Annotated[str, argument("ADDRESS", "The account.")], agent: Agent) -> None:
    """Show whether an account may act for an agent. If so, it cannot rate the agent."""
    with invocation.reading() as client:
        answer = client.is_authorized_or_owner(account, agent)
    invocation.output.result({"agent": agent, "account": account, "may_act": answer})


def hexadecimal(text: str) -> bytes:
    """Return the bytes that the user entered in hexadecimal form."""
    try:
        return bytes.fromhex(text.removeprefix("0x"))
    except ValueError:
        raise InvalidArgumentError(f"{quoted(text[:80])} is not an even number of hexadecimal digits") from None


def _metadata(entries: Sequence[str]) -> dict[str, str]:
    fields: dict[str, str] = {}
    for entry in entries:
        key, equals, value = entry.partition("=")
        if not equals:
            raise InvalidArgumentError("--metadata must have the form KEY=VALUE, such as region=eu")
        if key in fields:
            raise InvalidArgumentError(f"--metadata specifies the key {quoted(key)} twice")
        fields[key] = value
    return fields


def _registration(invocation: Invocation, path: Path | None) -> RegistrationFile | None:
    from bilateral.core.text.encoding import decode_object  # noqa: PLC0415
    from bilateral.documents import RegistrationFile  # noqa: PLC0415  # slow to import

    return None if path is None else RegistrationFile.of(decode_object(invocation.read_file(path)))


def _text(value: bytes) -> str | None:
    """Return bytes as text, or None if they are not UTF-8."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        return None


def services_of(services: Sequence[str]) -> list[dict[str, str]]:
    """Return services as objects for a registration file."""
    pairs = [service.partition("=") for service in services]
    if not all(kind and endpoint for kind, _, endpoint in pairs):
        raise InvalidArgumentError("--service must have the form NAME=ENDPOINT, such as MCP=https://agent.example/mcp")
    return [{"name": kind, "endpoint": endpoint} for kind, _, endpoint in pairs]


def register_new(invocation: Invocation, file: RegistrationFile, metadata: dict[str, str]) -> None:
    """Register an agent with a file, and add its id to the file in a second transaction."""
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
