"""`bilateral agent …`: registering agents, looking at them, changing them, handing them on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from bilateral.cli.keys import key_of_variable, open_keystore
from bilateral.cli.options import Agent, command, make_group, moment
from bilateral.cli.session import Session
from bilateral.errors import InvalidArgumentError
from bilateral.identifiers import checksummed
from bilateral.text import printable, quoted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bilateral.client.inputs import TransactionSigner
    from bilateral.documents import RegistrationFile

app = make_group("agent", "Register agents, look at them, change them, hand them on.")

WALLET_KEY_VARIABLE: Final = "BILATERAL_WALLET_PRIVATE_KEY"

Uri = Annotated[str, typer.Argument(metavar="[URI]", help="Where the registration file is.", show_default=False)]
File = Annotated[
    Path | None,
    typer.Option(
        "--file", metavar="FILE", help="A registration file to store, instead of a URI; - is the standard input."
    ),
]


@command(
    app,
    "register",
    "bilateral agent register https://agent.example/agent.json --account alice",
    "bilateral agent register --file agent.json --metadata tier=gold --account alice",
    "bilateral agent register --domain agent.example --account alice",
    writes=True,
    stores=True,
)
def register(
    session: Session,
    uri: Uri = "",
    file: File = None,
    domain: Annotated[
        str, typer.Option("--domain", metavar="DOMAIN", help="Register under a domain, without a URI (August 2025).")
    ] = "",
    metadata: Annotated[
        list[str] | None,
        typer.Option("--metadata", metavar="KEY=VALUE", help="Metadata to keep on chain; may be repeated."),
    ] = None,
) -> None:
    """Register an agent that the signer owns."""
    if domain:
        if uri or file or metadata:
            raise InvalidArgumentError("--domain goes with neither a URI nor a file nor metadata")
        session.write("Agent registered", lambda client: client.new_agent(domain))
        return
    entries = _metadata(metadata or ())
    document = _registration(session, file)
    session.write("Agent registered", lambda client: client.register_agent(uri, file=document, metadata=entries))


@command(app, "show", "bilateral agent show 42", "bilateral agent show 84532:42 --json")
def show(
    session: Session,
    agent: Agent,
    load_file: Annotated[bool, typer.Option("--load/--no-load", help="Load the registration file.")] = True,
) -> None:
    """Show an agent, with its registration file."""
    with session.reading("Loading the agent") as client:
        found = client.load_agent(agent, load_file=load_file)
    session.output.result(found, title=f"Agent {found.id}")
    if found.file and not found.is_confirmed:
        session.output.note("The file does not name this agent: whoever wrote it need not have to do with it.")


@command(app, "set-uri", "bilateral agent set-uri 42 https://agent.example/agent.json", writes=True, stores=True)
def set_uri(
    session: Session,
    agent: Agent,
    uri: Annotated[
        str | None,
        typer.Argument(metavar="[URI]", help='Where the registration file is; "" for nowhere.', show_default=False),
    ] = None,
    file: File = None,
) -> None:
    """Replace the URI of an agent's registration file."""
    if (uri is None) == (file is None):
        raise InvalidArgumentError("give the registration file as a URI, or as --file")
    document = _registration(session, file)
    session.write("URI replaced", lambda client: client.set_agent_uri(agent, uri or "", file=document))


@command(
    app,
    "set-wallet",
    "bilateral agent set-wallet 42 0x8004B663056A597Dffe9eCcC1965A193B7388713 --wallet-account bob --account alice",
    writes=True,
)
def set_wallet(  # noqa: PLR0913, PLR0917  # as many as the user has options
    session: Session,
    agent: Agent,
    wallet: Annotated[str, typer.Argument(metavar="WALLET", help="The wallet's address.", show_default=False)],
    wallet_account: Annotated[
        str | None,
        typer.Option(
            "--wallet-account",
            metavar="ALIAS",
            help=f"The wallet's keystore, unless it is the signer. Without it, the key in {WALLET_KEY_VARIABLE}.",
        ),
    ] = None,
    wallet_passphrase_file: Annotated[
        Path | None, typer.Option("--wallet-passphrase-file", metavar="FILE", help="Holds that keystore's passphrase.")
    ] = None,
    signature: Annotated[
        str | None,
        typer.Option("--signature", metavar="HEX", help="The wallet's signature, if it was made elsewhere."),
    ] = None,
    deadline: Annotated[
        int | None, typer.Option("--deadline", metavar="UNIX", help="Until when that signature counts.")
    ] = None,
) -> None:
    """Set the wallet that receives an agent's payments, with the wallet's consent."""
    wallet_signer: TransactionSigner | None = None
    if signature is None and wallet_account is not None:
        wallet_signer = open_keystore(wallet_account, wallet_passphrase_file, session.output.ask)
    elif signature is None and checksummed(wallet) != session.signer.address:
        wallet_signer = key_of_variable(WALLET_KEY_VARIABLE, "--wallet-account")
    session.write(
        "Wallet set",
        lambda client: client.set_agent_wallet(
            agent,
            wallet,
            new_wallet_signer=wallet_signer,
            deadline=moment(deadline),
            signature=None if signature is None else hexadecimal(signature),
        ),
    )


@command(app, "unset-wallet", "bilateral agent unset-wallet 42 --account alice", writes=True)
def unset_wallet(session: Session, agent: Agent) -> None:
    """Leave an agent without a wallet."""
    session.write("Wallet unset", lambda client: client.unset_agent_wallet(agent))


@command(app, "metadata", "bilateral agent metadata 42 tier")
def metadata(
    session: Session,
    agent: Agent,
    key: Annotated[str, typer.Argument(metavar="KEY", help="The metadata's key.", show_default=False)],
) -> None:
    """Show a metadata value of an agent."""
    with session.reading() as client:
        value = client.get_metadata(agent, key)
    session.output.result({"key": key, "value": value, "text": _text(value)})


@command(
    app,
    "set-metadata",
    "bilateral agent set-metadata 42 tier gold --account alice",
    "bilateral agent set-metadata 42 root 0x00ff --hex --account alice",
    writes=True,
)
def set_metadata(
    session: Session,
    agent: Agent,
    key: Annotated[str, typer.Argument(metavar="KEY", help="The metadata's key.", show_default=False)],
    value: Annotated[str, typer.Argument(metavar="VALUE", help="The value, as text.", show_default=False)],
    is_hex: Annotated[bool, typer.Option("--hex", help="Take the value as hexadecimal digits.")] = False,
) -> None:
    """Set a metadata value of an agent."""
    content = hexadecimal(value) if is_hex else value
    session.write("Metadata set", lambda client: client.set_metadata(agent, key, content))


@command(
    app,
    "transfer",
    "bilateral agent transfer 42 0x8004B663056A597Dffe9eCcC1965A193B7388713 --account alice",
    writes=True,
)
def transfer(
    session: Session,
    agent: Agent,
    new_owner: Annotated[str, typer.Argument(metavar="ADDRESS", help="The new owner.", show_default=False)],
) -> None:
    """Hand an agent on to another owner."""
    session.write("Agent handed on", lambda client: client.transfer_agent(agent, new_owner))


@command(
    app,
    "resolve",
    "bilateral agent resolve agent.example",
    "bilateral agent resolve 0x8004B663056A597Dffe9eCcC1965A193B7388713",
)
def resolve(
    session: Session,
    name: Annotated[str, typer.Argument(metavar="DOMAIN|ADDRESS", help="Who to look for.", show_default=False)],
    entry: Annotated[
        bool, typer.Option("--entry", help="Of an address too, show only the directory's entry (August 2025).")
    ] = False,
) -> None:
    """Find the agent that holds a domain, or that an address speaks as."""
    with session.reading() as client:
        if name.lower().startswith("0x") and entry:
            session.output.result(client.resolve_by_address(name), title=f"Address {printable(name)}")
        elif name.lower().startswith("0x"):
            rater = client.resolve_rater(name)
            session.output.result(rater, title=f"Address {rater.address}")
        else:
            session.output.result(client.resolve_by_domain(name), title=f"Domain {printable(name)}")


@command(app, "update", "bilateral agent update 42 --domain agent.example --account alice", writes=True)
def update(
    session: Session,
    agent: Agent,
    domain: Annotated[str, typer.Option("--domain", metavar="DOMAIN", help="The new domain.")] = "",
    address: Annotated[str | None, typer.Option("--address", metavar="ADDRESS", help="The new owner.")] = None,
) -> None:
    """Change an agent's domain, or hand it to another address (August 2025)."""
    if not domain and address is None:
        raise InvalidArgumentError("give --domain, --address or both")
    session.write("Agent updated", lambda client: client.update_agent(agent, domain=domain, address=address))


@command(app, "set-primary", "bilateral agent set-primary 42 --account alice", writes=True)
def set_primary(session: Session, agent: Agent) -> None:
    """Choose the agent that the signer speaks as."""
    session.write("Primary agent chosen", lambda client: client.set_primary_agent(agent))


@command(app, "can-act", "bilateral agent can-act 42 0x8004B663056A597Dffe9eCcC1965A193B7388713")
def can_act(
    session: Session,
    agent: Agent,
    account: Annotated[str, typer.Argument(metavar="ADDRESS", help="The account.", show_default=False)],
) -> None:
    """Tell whether an account may act for an agent, and so may not rate it."""
    with session.reading() as client:
        answer = client.is_authorized_or_owner(account, agent)
    session.output.result({"agent": agent, "account": account, "may_act": answer})


def hexadecimal(text: str) -> bytes:
    """Bytes that a user wrote.

    Args:
        text: Hexadecimal digits, with or without 0x.

    Raises:
        InvalidArgumentError: It is not that.
    """
    try:
        return bytes.fromhex(text.removeprefix("0x"))
    except ValueError:
        raise InvalidArgumentError("expected bytes as hexadecimal digits in pairs") from None


def _metadata(entries: Sequence[str]) -> dict[str, str]:
    """Metadata by its keys."""
    found: dict[str, str] = {}
    for entry in entries:
        key, equals, value = entry.partition("=")
        if not equals:
            raise InvalidArgumentError("metadata is given as KEY=VALUE")
        if key in found:
            raise InvalidArgumentError(f"the metadata {quoted(key)} is given twice")
        found[key] = value
    return found


def _registration(session: Session, path: Path | None) -> RegistrationFile | None:
    """The registration file that the user names."""
    from bilateral.documents import RegistrationFile  # noqa: PLC0415  # heavy, and for few commands

    return None if path is None else RegistrationFile.from_bytes(session.read_file(path))


def _text(value: bytes) -> str | None:
    """Bytes as text, if they are any."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        return None
