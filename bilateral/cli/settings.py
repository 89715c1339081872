"""The options that commands share: the node, the key, how transactions are sent, and where documents are stored."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import typer

from bilateral.cli import secrets


def _complete_account(incomplete: str) -> list[str]:
    from bilateral.cli.keys import aliases  # noqa: PLC0415  # slow to import

    return [alias for alias in aliases() if alias.startswith(incomplete)]


def _option(panel: str, metavar: str | None, about: str, *flags: str, default: Any = None, **settings: Any) -> Any:
    return typer.Option(default, *flags, metavar=metavar, help=about, rich_help_panel=panel, **settings)


_node, _key, _sending, _documents = (partial(_option, panel) for panel in ("Node", "Key", "Sending", "Documents"))


@dataclass(frozen=True)
class NodeOptions:
    """The node, with its chain, registries and IPFS gateways."""

    rpc_url: str | None = _node("URL", "The node's JSON-RPC URL.", envvar="BILATERAL_RPC_URL")
    deployment: Path | None = _node(
        "FILE",
        "The deployment record with the registries' addresses, or a packaged one: canonical (the default) or "
        "bilateral.",
        envvar="BILATERAL_DEPLOYMENT",
    )
    chain: int | None = _node(
        "ID",
        "The chain that the node must serve. Defaults to the deployment record's chain, or else the node's.",
        envvar="BILATERAL_CHAIN",
        min=1,
    )
    ipfs_gateways: list[str] | None = _documents(
        "URL",
        "Load ipfs: documents from this gateway; may be repeated.",
        "--ipfs-gateway",
        envvar="BILATERAL_IPFS_GATEWAYS",
    )


@dataclass(frozen=True)
class KeyOptions:
    """The keystore with the signing key."""

    account: str | None = _key(
        "ALIAS",
        f"Sign with the keystore of this Ape account. By default, the key in {secrets.KEY_VARIABLE} is used.",
        envvar=secrets.ACCOUNT_VARIABLE,
        autocompletion=_complete_account,
    )
    keystore: Path | None = _key("FILE", "Sign with the keystore at this path.", envvar=secrets.KEYSTORE_VARIABLE)


@dataclass(frozen=True)
class PassphraseOptions:
    """The passphrase of a keystore."""

    passphrase_file: Path | None = _key(
        "FILE",
        f"Read the passphrase from this file. The default is {secrets.PASSPHRASE_VARIABLE} or the terminal.",
        envvar=secrets.PASSPHRASE_FILE_VARIABLE,
    )


@dataclass(frozen=True)
class SendingOptions:
    """The limits for a transaction, and how long to wait for it."""

    dry_run: bool = _sending(None, "Check and simulate without signing or sending.", "--dry-run", default=False)
    max_fee_per_gas: str | None = _sending(
        "GWEI",
        "The maximum fee per gas; 500 gwei by default, with a lower limit for the tip.",
        envvar="BILATERAL_MAX_FEE_PER_GAS",
    )
    max_cost: str | None = _sending(
        "ETHER",
        "The maximum total cost of a transaction, in the chain's currency; unlimited by default.",
        envvar="BILATERAL_MAX_COST",
    )
    wait: bool = _sending(None, "Wait until the transaction is in a block.", default=True)
    timeout: float = _sending("SECONDS", "The maximum time to wait.", default=120.0, min=0)


@dataclass(frozen=True)
class StoreOptions:
    """The document store."""

    store_folder: Path | None = _documents(
        "FOLDER",
        "Store documents in this folder, published at --store-url. By default, store them on chain as data: URIs.",
        envvar="BILATERAL_STORE_FOLDER",
    )
    store_url: str | None = _documents(
        "URL",
        "The http or https URL at which that folder is published; URIs on chain begin with it.",
        envvar="BILATERAL_STORE_URL",
    )
    ipfs_api: str | None = _documents(
        "URL", "Store documents on IPFS through a node with the Kubo API.", envvar="BILATERAL_IPFS_API"
    )
    pinning_api: str | None = _documents(
        "URL",
        f"Pin documents at a service (IPFS Pinning Service API), with the token in {secrets.PINNING_VARIABLE}.",
        envvar="BILATERAL_PINNING_API",
    )
    pinata: bool = _documents(
        None,
        f"Store documents in IPFS through Pinata, with the JWT in {secrets.PINATA_VARIABLE}.",
        "--pinata",
        default=False,
    )
    put_url: str | None = _documents(
        "URL", "Upload the document to this URL by HTTP PUT, for example a presigned URL.", envvar="BILATERAL_PUT_URL"
    )
    public_url: str | None = _documents(
        "URL",
        "The public URL of the uploaded document; by default, --put-url without its query.",
        envvar="BILATERAL_PUBLIC_URL",
    )


@dataclass(frozen=True)
class Settings(StoreOptions, SendingOptions, PassphraseOptions, KeyOptions, NodeOptions):
    """The options that commands share. Options that a command lacks have the values of omitted options."""
