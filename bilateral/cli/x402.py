"""`bilateral x402 …`: the keys that sign an agent's paid answers, and a check of a server that takes payments."""

from __future__ import annotations

from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from bilateral.cli.columns import columns
from bilateral.cli.errors import ExitCode, KeyUnavailableError
from bilateral.cli.invocation import Invocation
from bilateral.cli.keys import find_passphrase
from bilateral.cli.options import Agent, argument, command, make_group, option, optional, parse_time
from bilateral.cli.solana import CHAINS, SOLANA_NODE_VARIABLE
from bilateral.core.errors import InvalidArgumentError
from bilateral.core.text import printable, quoted

if TYPE_CHECKING:
    from bilateral.core.contracts import Deployment
    from bilateral.documents import Signer
    from bilateral.node.transport import Provider
    from bilateral.x402.proof.keys import InteractionKey

app = make_group("x402")
signers = make_group("signers", "List, add and retire the keys that sign an agent's paid responses.")
app.add_typer(signers)

SIGNING_VARIABLE: Final = "BILATERAL_X402_KEY"

_MIN_DIGITS: Final = 8  # four bytes, because few keys begin alike by chance
_HOUR: Final = timedelta(hours=1)


@command(app)
def check(  # noqa: PLR0913, PLR0917  # as many as the user has options
    invocation: Invocation,
    url: Annotated[str, argument("URL", "The URL of a paid route.")],
    method: str = option("NAME", "The request's HTTP method.", default="GET"),
    body_file: Path | None = optional("FILE", "A file containing the request body."),
    solana_node: str | None = optional(
        "URL",
        "The URL of a Solana node, for servers that are paid on Solana; an EVM node is then optional.",
        envvar=SOLANA_NODE_VARIABLE,
    ),
    cluster: str = option("CHAIN", "The chain that the node serves: mainnet, devnet or testnet.", default="mainnet"),
) -> None:
    """Check a server's price, agent, wallet and keys without paying. Exits with code 13 if problems are found."""
    from bilateral.x402.clients.preflight import check_url  # noqa: PLC0415  # slow, and an extra
    from bilateral.x402.proof.solana import SolanaReader  # noqa: PLC0415
    from bilateral.x402.proof.verifier import Verifier  # noqa: PLC0415

    content = b"" if body_file is None else invocation.read_file(body_file)
    readers = [] if solana_node is None else [SolanaReader(solana_node, CHAINS.get(cluster, cluster))]
    with ExitStack() as stack:
        deployments: dict[str | Provider, Deployment] = {}
        if not readers or invocation.settings.rpc_url is not None:
            client = stack.enter_context(invocation.reading("Querying the server and the node"))
            deployments = {str(invocation.settings.rpc_url): client.get_deployment()}
        verifier = stack.enter_context(Verifier(deployments, readers=readers, loader=invocation.loader()))
        findings = check_url(verifier, url, method, content=content)
    fields = columns(
        "profile",
        network=lambda finding: printable(finding.network),
        check="check",
        result=lambda finding: finding.code or "passed",
        problem="problem",
    )
    invocation.output.results(findings, fields)
    if any(finding.code for finding in findings):
        raise typer.Exit(ExitCode.DECLINE)


@command(signers, "list")
def list_command(invocation: Invocation, agent: Agent) -> None:
    """List all keys in an agent's registration file, whether valid or not."""
    from bilateral.x402.server.rotation import list_signers  # noqa: PLC0415  # slow, and an extra

    with invocation.reading("Loading the agent") as client:
        listed = list_signers(client, agent)
    fields = columns(public_key="publicKey", algorithm="algorithm", role="role", comment="comment")
    fields |= columns(
        valid_from=lambda row: _date(row.get("validFrom")), valid_until=lambda row: _date(row.get("validUntil"))
    )
    invocation.output.results([entry.to_object() for entry in listed], fields)


def _date(unix: object) -> object:
    """Return a Unix time in a registration file as a date. Return other (untrusted) values unchanged."""
    try:
        return parse_time(unix) if isinstance(unix, int) else unix
    except InvalidArgumentError:
        return unix


@command(signers, writes=True, stores=True)
def add(  # noqa: PLR0913, PLR0917  # as many as the user has options
    invocation: Invocation,
    agent: Agent,
    signing_keystore: Path | None = optional(
        "FILE", f"The keystore with the key to add. By default, the key is read from {SIGNING_VARIABLE}."
    ),
    public_key_file: Path | None = optional(
        "FILE", "A file containing the public key in hexadecimal, if another program holds the key."
    ),
    algorithm: str = option("NAME", "The algorithm of the key: secp256k1 or ed25519.", default="secp256k1"),
    role: str = option("ROLE", "The role of the key's holder: owner or delegate.", default="delegate"),
    valid_from: int | None = optional("SECONDS", "When the key becomes valid, in Unix time; a minute ago by default."),
    valid_until: int | None = optional("SECONDS", "The Unix time at which the key expires; by default, it never does."),
    comment: str | None = optional("TEXT", "A note for human readers."),
) -> None:
    """Add a key to an agent's registration file, store the file, and set the agent's URI."""
    from bilateral.x402.server.rotation import add_public_key, add_signer  # noqa: PLC0415  # slow, and an extra

    if signing_keystore is not None and public_key_file is not None:
        raise InvalidArgumentError("pass --signing-keystore or --public-key-file, not both")
    options: dict[str, Any] = {
        "role": role,
        "valid_from": parse_time(valid_from),
        "valid_until": parse_time(valid_until),
        "comment": comment,
    }
    if public_key_file is not None:
        public_key = invocation.read_file(public_key_file).decode("latin-1").strip().removeprefix("0x")
        invocation.write("Signer added", lambda client: add_public_key(client, agent, public_key, algorithm, **options))
        return
    key = _signing_key(invocation, signing_keystore, algorithm)
    invocation.write("Signer added", lambda client: add_signer(client, agent, key, **options))


@command(signers, writes=True, stores=True)
def retire(
    invocation: Invocation,
    agent: Agent,
    key: Annotated[str, argument("KEY", "The first digits of the public key, at least 8.")],
    overlap: float = option(
        "HOURS", "How long the key remains valid; use 0 if the key was stolen.", "--overlap-hours", default=24.0, min=0
    ),
) -> None:
    """Set a key in an agent's registration file to expire, store the file, and set the agent's URI."""
    from bilateral.x402.server.rotation import list_signers, retire_signer  # noqa: PLC0415  # slow, and an extra

    with invocation.reading("Loading the agent") as client:
        public_key = _matching(list_signers(client, agent), key)
    invocation.write("Signer retired", lambda client: retire_signer(client, agent, public_key, overlap=overlap * _HOUR))


def _matching(signers: list[Signer], digits: str) -> str:
    digits = digits.lower().removeprefix("0x")
    if len(digits) < _MIN_DIGITS:
        raise InvalidArgumentError(
            f"{quoted(digits)} is too short: pass at least {_MIN_DIGITS} digits of the public key"
        )
    keys = {signer.public_key.lower() for signer in signers if signer.public_key.lower().startswith(digits)}
    if len(keys) != 1:
        raise InvalidArgumentError(
            f"{len(keys)} listed keys begin with {quoted(digits[:16])}: pass digits that match exactly one"
        )
    return keys.pop()


def _signing_key(invocation: Invocation, keystore: Path | None, algorithm: str) -> InteractionKey:
    from bilateral.x402.proof.errors import InvalidKeyError  # noqa: PLC0415  # slow, and an extra
    from bilateral.x402.proof.keys import key_from_environment, key_from_keystore  # noqa: PLC0415

    try:
        if keystore is None:
            return key_from_environment(SIGNING_VARIABLE, algorithm)  # type: ignore[arg-type]  # it checks the name
        passphrase = find_passphrase(keystore.stem, None, invocation.output.ask)
        return key_from_keystore(keystore, passphrase, algorithm)  # type: ignore[arg-type]
    except InvalidKeyError as error:
        raise KeyUnavailableError("malformed_key", str(error)) from None
