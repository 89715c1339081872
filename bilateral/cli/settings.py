"""The options that commands share: the node, the key, the sending of transactions, and the store of documents."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from bilateral.cli.secrets import (
    ACCOUNT_VARIABLE,
    KEY_VARIABLE,
    KEYSTORE_VARIABLE,
    PASSPHRASE_FILE_VARIABLE,
    PASSPHRASE_VARIABLE,
    PINATA_VARIABLE,
    PINNING_VARIABLE,
)

_NODE: Final = "Node"
_KEY: Final = "Key"
_SENDING: Final = "Sending"
_DOCUMENTS: Final = "Documents"


def _complete_account(incomplete: str) -> list[str]:
    from bilateral.cli.keystores import aliases  # noqa: PLC0415  # slow to import

    return [alias for alias in aliases() if alias.startswith(incomplete)]


def _text(panel: str, variable: str, metavar: str, about: str, **settings: Any) -> Any:
    """Return an option that an environment variable can set."""
    return typer.Option(envvar=variable, metavar=metavar, help=about, rich_help_panel=panel, **settings)


@dataclass(frozen=True)
class NodeOptions:
    """The node, its chain and registries, and the gateways to IPFS."""

    rpc_url: Annotated[str | None, _text(_NODE, "BILATERAL_RPC_URL", "URL", "The URL of the node's JSON-RPC.")] = None
    deployment: Annotated[
        Path | None,
        _text(
            _NODE,
            "BILATERAL_DEPLOYMENT",
            "FILE",
            "The deployment record that lists the registries' addresses; or canonical or bilateral, for a packaged "
            "one. The canonical one if left out.",
        ),
    ] = None
    chain: Annotated[
        int | None,
        _text(
            _NODE,
            "BILATERAL_CHAIN",
            "ID",
            "Refuse a node of another chain. Without it and a record, the node alone names the chain.",
            min=1,
        ),
    ] = None
    ipfs_gateways: Annotated[
        list[str] | None,
        typer.Option(
            "--ipfs-gateway",
            envvar="BILATERAL_IPFS_GATEWAYS",
            metavar="URL",
            help="Load ipfs: documents from this gateway; may be repeated.",
            rich_help_panel=_DOCUMENTS,
        ),
    ] = None


@dataclass(frozen=True)
class KeyOptions:
    """The keystore to sign with."""

    account: Annotated[
        str | None,
        _text(
            _KEY,
            ACCOUNT_VARIABLE,
            "ALIAS",
            f"Sign with this keystore of Ape's accounts. Without it, with the key in {KEY_VARIABLE}.",
            autocompletion=_complete_account,
        ),
    ] = None
    keystore: Annotated[
        Path | None, _text(_KEY, KEYSTORE_VARIABLE, "FILE", "Sign with this keystore file, wherever it is.")
    ] = None


@dataclass(frozen=True)
class PassphraseOptions:
    """The passphrase of a keystore."""

    passphrase_file: Annotated[
        Path | None,
        _text(
            _KEY,
            PASSPHRASE_FILE_VARIABLE,
            "FILE",
            f"Read the passphrase from this file. Without it, from {PASSPHRASE_VARIABLE} or the terminal.",
        ),
    ] = None


@dataclass(frozen=True)
class SendingOptions:
    """The limits of a transaction, and the wait for it."""

    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Check and simulate, but neither sign nor send.", rich_help_panel=_SENDING),
    ] = False
    max_fee_per_gas: Annotated[
        str | None,
        _text(
            _SENDING,
            "BILATERAL_MAX_FEE_PER_GAS",
            "GWEI",
            "Sign no higher fee per gas. By default 500, with a narrower limit for the tip.",
        ),
    ] = None
    max_cost: Annotated[
        str | None,
        _text(
            _SENDING,
            "BILATERAL_MAX_COST",
            "ETHER",
            "Sign no transaction that may cost more, in the chain's currency. By default without limit.",
        ),
    ] = None
    wait: Annotated[bool, typer.Option(help="Wait until the transaction is in a block.", rich_help_panel=_SENDING)] = (
        True
    )
    timeout: Annotated[
        float, typer.Option(min=0, metavar="SECONDS", help="Longest time to wait.", rich_help_panel=_SENDING)
    ] = 120.0


@dataclass(frozen=True)
class StoreOptions:
    """The store of documents."""

    store_folder: Annotated[
        Path | None,
        _text(
            _DOCUMENTS,
            "BILATERAL_STORE_FOLDER",
            "FOLDER",
            "Put documents there, to be published at --store-url. Without it, they go on chain as data: URIs.",
        ),
    ] = None
    store_url: Annotated[
        str | None,
        _text(
            _DOCUMENTS,
            "BILATERAL_STORE_URL",
            "URL",
            "The http or https URL at which that folder is published; what goes on chain begins with it.",
        ),
    ] = None
    ipfs_api: Annotated[
        str | None,
        _text(_DOCUMENTS, "BILATERAL_IPFS_API", "URL", "Put documents into IPFS, through a node with Kubo's API."),
    ] = None
    pinning_api: Annotated[
        str | None,
        _text(
            _DOCUMENTS,
            "BILATERAL_PINNING_API",
            "URL",
            f"Have a service pin them (IPFS Pinning Service API). Its token is in {PINNING_VARIABLE}.",
        ),
    ] = None
    pinata: Annotated[
        bool,
        typer.Option(
            "--pinata",
            help=f"Put documents into IPFS, through Pinata. Its JWT is in {PINATA_VARIABLE}.",
            rich_help_panel=_DOCUMENTS,
        ),
    ] = False
    put_url: Annotated[
        str | None,
        _text(
            _DOCUMENTS,
            "BILATERAL_PUT_URL",
            "URL",
            "Put the document there by HTTP PUT, such as to a presigned URL.",
        ),
    ] = None
    public_url: Annotated[
        str | None,
        _text(
            _DOCUMENTS,
            "BILATERAL_PUBLIC_URL",
            "URL",
            "The URL of that document for readers. Without it, --put-url without its query.",
        ),
    ] = None


@dataclass(frozen=True)
class Settings(StoreOptions, SendingOptions, PassphraseOptions, KeyOptions, NodeOptions):
    """The options that commands share. Those that a command does not have are as if left out."""
