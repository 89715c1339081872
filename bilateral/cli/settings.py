"""The options that commands share: the node, the key, the sending of transactions, and the store of documents."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from bilateral.cli.help import option
from bilateral.cli.secrets import (
    ACCOUNT_VARIABLE,
    KEY_VARIABLE,
    KEYSTORE_VARIABLE,
    PASSPHRASE_FILE_VARIABLE,
    PASSPHRASE_VARIABLE,
    PINATA_VARIABLE,
    PINNING_VARIABLE,
)


def _complete_account(incomplete: str) -> list[str]:
    from bilateral.cli.keys import aliases  # noqa: PLC0415  # slow to import

    return [alias for alias in aliases() if alias.startswith(incomplete)]


def _of_panel(panel: str) -> Callable[..., Any]:
    """Return what makes options of a panel that an environment variable can set."""

    def make(variable: str, metavar: str, about: str, **settings: Any) -> Any:
        return option(metavar, about, envvar=variable, rich_help_panel=panel, **settings)

    return make


_node, _key, _sending, _documents = map(_of_panel, ("Node", "Key", "Sending", "Documents"))


@dataclass(frozen=True)
class NodeOptions:
    """The node, its chain and registries, and the gateways to IPFS."""

    rpc_url: Annotated[str | None, _node("BILATERAL_RPC_URL", "URL", "The URL of the node's JSON-RPC.")] = None
    deployment: Annotated[
        Path | None,
        _node(
            "BILATERAL_DEPLOYMENT",
            "FILE",
            "The deployment record that lists the registries' addresses; or canonical or bilateral, for a packaged "
            "one. The canonical one if left out.",
        ),
    ] = None
    chain: Annotated[
        int | None,
        _node(
            "BILATERAL_CHAIN",
            "ID",
            "Refuse a node of another chain. Without it and a record, the node alone names the chain.",
            min=1,
        ),
    ] = None
    ipfs_gateways: Annotated[
        list[str] | None,
        option(
            "URL",
            "Load ipfs: documents from this gateway; may be repeated.",
            "--ipfs-gateway",
            envvar="BILATERAL_IPFS_GATEWAYS",
            rich_help_panel="Documents",
        ),
    ] = None


@dataclass(frozen=True)
class KeyOptions:
    """The keystore to sign with."""

    account: Annotated[
        str | None,
        _key(
            ACCOUNT_VARIABLE,
            "ALIAS",
            f"Sign with this keystore of Ape's accounts. Without it, with the key in {KEY_VARIABLE}.",
            autocompletion=_complete_account,
        ),
    ] = None
    keystore: Annotated[
        Path | None, _key(KEYSTORE_VARIABLE, "FILE", "Sign with this keystore file, wherever it is.")
    ] = None


@dataclass(frozen=True)
class PassphraseOptions:
    """The passphrase of a keystore."""

    passphrase_file: Annotated[
        Path | None,
        _key(
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
        typer.Option("--dry-run", help="Check and simulate, but neither sign nor send.", rich_help_panel="Sending"),
    ] = False
    max_fee_per_gas: Annotated[
        str | None,
        _sending(
            "BILATERAL_MAX_FEE_PER_GAS",
            "GWEI",
            "Sign no higher fee per gas. By default 500, with a narrower limit for the tip.",
        ),
    ] = None
    max_cost: Annotated[
        str | None,
        _sending(
            "BILATERAL_MAX_COST",
            "ETHER",
            "Sign no transaction that may cost more, in the chain's currency. By default without limit.",
        ),
    ] = None
    wait: Annotated[bool, typer.Option(help="Wait until the transaction is in a block.", rich_help_panel="Sending")] = (
        True
    )
    timeout: Annotated[float, option("SECONDS", "Longest time to wait.", min=0, rich_help_panel="Sending")] = 120.0


@dataclass(frozen=True)
class StoreOptions:
    """The store of documents."""

    store_folder: Annotated[
        Path | None,
        _documents(
            "BILATERAL_STORE_FOLDER",
            "FOLDER",
            "Put documents there, to be published at --store-url. Without it, they go on chain as data: URIs.",
        ),
    ] = None
    store_url: Annotated[
        str | None,
        _documents(
            "BILATERAL_STORE_URL",
            "URL",
            "The http or https URL at which that folder is published; what goes on chain begins with it.",
        ),
    ] = None
    ipfs_api: Annotated[
        str | None, _documents("BILATERAL_IPFS_API", "URL", "Put documents into IPFS, through a node with Kubo's API.")
    ] = None
    pinning_api: Annotated[
        str | None,
        _documents(
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
            rich_help_panel="Documents",
        ),
    ] = False
    put_url: Annotated[
        str | None,
        _documents("BILATERAL_PUT_URL", "URL", "Put the document there by HTTP PUT, such as to a presigned URL."),
    ] = None
    public_url: Annotated[
        str | None,
        _documents(
            "BILATERAL_PUBLIC_URL",
            "URL",
            "The URL of that document for readers. Without it, --put-url without its query.",
        ),
    ] = None


@dataclass(frozen=True)
class Settings(StoreOptions, SendingOptions, PassphraseOptions, KeyOptions, NodeOptions):
    """The options that commands share. Those that a command does not have are as if left out."""
