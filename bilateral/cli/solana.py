"""`bilateral solana …`: show a SATI agent, and change it with its owner's key."""

from __future__ import annotations

import json
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

from bilateral.cli.errors import KeyUnavailableError
from bilateral.cli.invocation import Invocation
from bilateral.cli.options import argument, command, make_group, option
from bilateral.solana.addresses import DEVNET, MAINNET, TESTNET

if TYPE_CHECKING:
    from collections.abc import Callable

    from bilateral.solana.identity import SatiIdentity

app = make_group("solana")

CHAINS: Final = {"mainnet": MAINNET, "devnet": DEVNET, "testnet": TESTNET}
SOLANA_NODE_VARIABLE: Final = "BILATERAL_SOLANA_RPC_URL"
KEY_FILE_VARIABLE: Final = "BILATERAL_SOLANA_KEY_FILE"

_KEY_BYTES: Final = 64  # the secret and the public half, as written by `solana-keygen`

Mint = Annotated[str, argument("MINT", "The agent's mint.")]
Uri = Annotated[str, argument("URI", "The URI of the registration file.")]
Key = Annotated[str, argument("KEY", "The name of the metadata value.")]
Value = Annotated[str, argument("VALUE", "The value, as text.")]
Address = Annotated[str, argument("ADDRESS", "An address on this chain, 32 bytes in base 58.")]
Node = Annotated[str, option("URL", "The URL of a Solana node.", "--node", envvar=SOLANA_NODE_VARIABLE)]
Chain = Annotated[
    str, option("CHAIN", "The cluster of the node: mainnet, devnet, testnet, or a CAIP-2 id.", "--cluster")
]
KeyFile = Annotated[
    Path,
    option(
        "FILE", "The owner's key, as a JSON file written by Solana's tools.", "--key-file", envvar=KEY_FILE_VARIABLE
    ),
]


@command(app, is_local=True)
def show(invocation: Invocation, mint: Mint, node: Node, chain: Chain = "mainnet") -> None:
    """Show a SATI agent: holder, wallet, URI and metadata. Fails if the agent does not pass verification."""
    from bilateral.node.running import StepRunner  # noqa: PLC0415  # slow
    from bilateral.node.transport import Transport  # noqa: PLC0415
    from bilateral.solana.nodes import SolanaNode  # noqa: PLC0415
    from bilateral.solana.sati import read_agent  # noqa: PLC0415

    with closing(Transport(node, _REQUEST_SECONDS)) as transport, invocation.output.waiting("Querying the node"):
        agent = StepRunner(transport).run(read_agent(SolanaNode(_chain(chain)), mint))
    invocation.output.result(asdict(agent), title=agent.metadata.name)


@dataclass(frozen=True, kw_only=True)
class OwnerOptions:
    """The agent's owner, and the node and chain to which the change is sent."""

    node: Node
    key_file: KeyFile
    chain: Chain = "mainnet"

    def write(self, invocation: Invocation, change: Callable[[SatiIdentity], str]) -> None:
        """Change an agent, and show the transaction."""
        from bilateral.solana.identity import SatiIdentity  # noqa: PLC0415  # slow, and an extra

        secret, waiting = _secret(invocation.read_file(self.key_file), self.key_file), invocation.output.waiting
        with SatiIdentity(self.node, _chain(self.chain), secret) as identity, waiting("Sending the transaction"):
            signature = change(identity)
        invocation.output.result({"transaction": signature}, title="Sent")


@command(app, is_local=True)
def set_uri(invocation: Invocation, mint: Mint, uri: Uri, owner: OwnerOptions) -> None:
    """Set the URI of an agent's registration file."""
    owner.write(invocation, lambda identity: identity.set_uri(mint, uri))


@command(app, is_local=True)
def set_metadata(invocation: Invocation, mint: Mint, key: Key, value: Value, owner: OwnerOptions) -> None:
    """Set an additional field in an agent's metadata."""
    owner.write(invocation, lambda identity: identity.set_metadata(mint, key, value))


@command(app, is_local=True)
def set_wallet(invocation: Invocation, mint: Mint, wallet: Address, owner: OwnerOptions) -> None:
    """Set the account that receives an agent's payments."""
    owner.write(invocation, lambda identity: identity.set_wallet(mint, wallet))


@command(app, is_local=True)
def remove(invocation: Invocation, mint: Mint, key: Key, owner: OwnerOptions) -> None:
    """Remove an additional field from an agent's metadata. Without a wallet, payments go to the holder."""
    owner.write(invocation, lambda identity: identity.remove(mint, key))


@command(app, is_local=True)
def transfer(invocation: Invocation, mint: Mint, to: Address, owner: OwnerOptions) -> None:
    """Transfer an agent together with the authority over its metadata, and clear its wallet."""
    owner.write(invocation, lambda identity: identity.transfer(mint, to))


_REQUEST_SECONDS: Final = 30.0  # the default timeout of a `Client` request


def _chain(text: str) -> Any:
    from bilateral.core.identifiers.caip import ChainId  # noqa: PLC0415  # slow

    return ChainId.parse(CHAINS.get(text, text))


def _secret(content: bytes, path: Path) -> bytes:
    """Read a key file of Solana's tools, which is a JSON list of 64 bytes."""
    try:
        secret = bytes(json.loads(content))
    except (ValueError, TypeError, RecursionError):
        secret = b""
    if len(secret) != _KEY_BYTES:
        problem = f"{path} is not a Solana key file: expected a JSON list of {_KEY_BYTES} bytes"
        raise KeyUnavailableError("malformed_key", problem)
    return secret
