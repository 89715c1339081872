"""One run of a command: its settings, the clients it opens, and how its result is displayed."""

from __future__ import annotations

import logging
import os
import re
import sys
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from decimal import Context, Decimal
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, TypeVar
from urllib.parse import urlsplit

from bilateral.cli.errors import KeyUnavailableError, UsageProblemError
from bilateral.cli.secrets import KEY_VARIABLE, PINATA_VARIABLE, PINNING_VARIABLE
from bilateral.core import errors
from bilateral.core.text import quoted
from bilateral.core.values.currency import ETHER, ether, symbol_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from bilateral.cli.output import Output
    from bilateral.cli.settings import Settings
    from bilateral.client import Client, Handle
    from bilateral.client.state import TransactionSigner
    from bilateral.core.contracts import Deployment
    from bilateral.documents import Loader, Store

T = TypeVar("T")

GWEI: Final = 10**9  # wei

_AMOUNT = re.compile(r"[0-9]+(\.[0-9]+)?", re.ASCII)
_LONGEST: Final = 60  # characters: more than any currency's supply needs
_EXACT: Final = Context(prec=90)  # exact for this many digits times 10^18

NOT_SENT: Final = "Not sent (dry run): the transaction would succeed"

_WEB_FOLDER = re.compile(r"https?://[\w.~%:\[\]-]+(/[\w.~%!$&'()*+,;=:@/-]*)?", re.ASCII | re.IGNORECASE)
"""A web URL to which a file name can be appended (RFC 3986), without user and password."""

_CHOICES: Final = {
    "canonical": "canonical: deployed by the authors of ERC-8004, according to the packaged address book",
    "bilateral": "bilateral: deployed by this project, according to the packaged deployment record",
}
"""The packaged deployments that --deployment accepts by name, with the authors of their registries."""

_POLL_SECONDS: Final = 0.25
"""Seconds between two polls for a receipt. Supported chains have block times of at most two seconds."""


@dataclass
class Invocation:
    """One run of a command.

    Attributes:
        settings: The options that all commands share.
        output: Writes results.
    """

    settings: Settings
    output: Output

    @cached_property
    def signer(self) -> TransactionSigner:
        """The key that the options specify."""
        from bilateral.cli.keys import find_signer  # noqa: PLC0415  # slow to import

        settings = self.settings
        return find_signer(settings.account, settings.passphrase_file, self.output.ask, settings.keystore)

    @property
    def has_key(self) -> bool:
        """True if the options specify a key."""
        return bool(self.settings.account or self.settings.keystore or os.environ.get(KEY_VARIABLE, "").strip())

    @contextmanager
    def reading(self, progress: str = "Querying the node") -> Iterator[Client]:
        """Open a read-only client, and show progress."""
        with self._connected(None) as client, self.output.waiting(progress):
            yield client

    @contextmanager
    def signing(self, progress: str = "Querying the node") -> Iterator[Client]:
        """Open a client that signs, and show progress."""
        with self.client() as client, self.output.waiting(progress):
            yield client

    @contextmanager
    def client(self) -> Iterator[Client]:
        """Open a client that signs. At the end, report which registries it used, unless the user specified them."""
        with self._connected(self.signer) as client, client_notes(self.output):
            yield client
            if self.settings.deployment is None:
                with suppress(errors.BilateralError):  # the command has finished, possibly without any registry
                    self.output.note(f"The registries are {self.choice_of(client.get_deployment())}.")

    def write(self, title: str, send: Callable[[Client], Handle[Any]]) -> None:
        """Send a transaction, wait for it unless waiting is disabled, and show the result."""
        with self.client() as client:
            handle = self.send(lambda: send(client))
            self.show_write(title, handle, handle.wait)

    def choice_of(self, deployment: Deployment) -> str:
        """Return a phrase that explains how the command's registries were chosen."""
        if self.settings.deployment is not None:
            return f"specified by --deployment {self.settings.deployment}"
        return _CHOICES[str(deployment.origin)]

    def send(self, send: Callable[[], T]) -> T:
        """Send a transaction, and show progress."""
        with self.output.waiting("Checking and sending"):
            return send()

    def show_write(self, title: str, handle: Handle[Any], wait: Callable[[float], Any]) -> None:
        """Wait for a transaction unless waiting is disabled, and show the result."""
        from bilateral.cli.json_values import plain  # noqa: PLC0415  # slow to import
        from bilateral.cli.shapes import view_of  # noqa: PLC0415

        self.output.sent = [handle.hash] if handle.hash else []
        value: dict[str, Any] = {"hash": handle.hash, "gas": handle.gas, "transaction": None, "result": None}
        if self.settings.dry_run:
            value["transaction"] = self.unsent(handle)
            title = NOT_SENT
        elif self.settings.wait:
            self.output.note(f"sent {handle.hash}")
            value["result"] = self.wait_for(wait)
        else:
            title = "Sent"
        visible = plain(view_of(value["result"])) or {}
        fields = visible if isinstance(visible, dict) else {"result": visible}
        sent = {"transaction": value["transaction"] or handle.hash, "max cost": cost_of(handle.transaction, handle.gas)}
        self.output.result(value, title=title, view=fields | sent)

    def unsent(self, handle: Handle[Any]) -> dict[str, Any]:
        """Return a dry run's unsigned transaction."""
        return {"from": self.signer.address, **handle.transaction}

    def wait_for(self, wait: Callable[[float], T]) -> T:
        """Wait for a transaction, and show progress."""
        with self.output.waiting("Waiting for a block"):
            return wait(self.settings.timeout)

    def read_file(self, path: Path) -> bytes:
        """Read a file that the user specified; `-` means standard input."""
        from bilateral.documents import Limits, Loader  # noqa: PLC0415  # slow to import

        if str(path) != "-":
            return Loader().load_file(path).content
        limit = Limits().bytes
        content = sys.stdin.buffer.read(limit + 1)
        if len(content) > limit:
            raise errors.DocumentTooLargeError(limit)
        return content

    def loader(self) -> Loader:
        """Return the loader for untrusted documents."""
        from bilateral.documents import Loader  # noqa: PLC0415  # slow to import

        gateways = self.settings.ipfs_gateways
        return Loader(gateways=tuple(gateways)) if gateways else Loader()

    @contextmanager
    def _connected(self, signer: TransactionSigner | None) -> Iterator[Client]:
        from bilateral.client import Client  # noqa: PLC0415  # slow to import

        if not self.settings.rpc_url:
            raise UsageProblemError("no node is configured: pass --rpc-url, or set BILATERAL_RPC_URL")
        with Client(
            self.settings.rpc_url,
            signer=signer,
            deployment=self._deployment(),
            chain_id=self.settings.chain,
            store=self._store(),
            loader=self.loader(),
            dry_run=self.settings.dry_run,
            max_fee_per_gas=_wei(self.settings.max_fee_per_gas, GWEI, "--max-fee-per-gas"),
            max_cost=_wei(self.settings.max_cost, ETHER, "--max-cost"),
            poll_interval=_POLL_SECONDS,
        ) as client:
            try:
                yield client
            except (errors.NodeTimeoutError, errors.NodeUnreachableError) as error:
                error.args = (f"{error} (node: {_host_of(self.settings.rpc_url)})",)
                raise

    def _deployment(self) -> Deployment | str | None:
        from bilateral.core.contracts import Deployment  # noqa: PLC0415

        path = self.settings.deployment
        if str(path) in _CHOICES:
            return str(path)
        return Deployment.from_record(self.read_file(path)) if path else None

    def _store(self) -> Store | None:
        from bilateral.documents import (  # noqa: PLC0415  # slow to import
            FolderStore,
            HttpPutStore,
            KuboStore,
            PinataStore,
            PinningStore,
        )

        settings = self.settings
        stores = [
            option
            for option, value in {
                "--store-folder": settings.store_folder,
                "--ipfs-api": settings.ipfs_api,
                "--pinata": settings.pinata,
                "--put-url": settings.put_url,
            }.items()
            if value
        ]
        if len(stores) > 1:
            raise errors.InvalidArgumentError(
                f"documents can only be stored in one place: choose one of {' or '.join(stores)}"
            )
        _require_whole(settings)
        if settings.store_folder:
            return FolderStore(settings.store_folder, settings.store_url)
        if settings.put_url:
            return HttpPutStore(settings.put_url, settings.public_url)
        if settings.pinata:
            return PinataStore(_token(PINATA_VARIABLE))
        if not settings.ipfs_api:
            return None
        node = KuboStore(settings.ipfs_api)
        return PinningStore(node, settings.pinning_api, _token(PINNING_VARIABLE)) if settings.pinning_api else node


def _require_whole(settings: Settings) -> None:
    if settings.store_url and not settings.store_folder:
        raise errors.InvalidArgumentError("--store-url requires --store-folder")
    if settings.store_folder and not settings.store_url:
        raise errors.InvalidArgumentError(
            "--store-folder requires --store-url, the URL at which the folder is published"
        )
    if settings.store_url and not _is_web_folder(settings.store_url):
        raise errors.InvalidArgumentError(
            "--store-url must be an http or https URL of a folder, without a query, fragment, user or password"
        )
    if settings.pinning_api and not settings.ipfs_api:
        raise errors.InvalidArgumentError("--pinning-api requires --ipfs-api, the IPFS node whose documents are pinned")
    if settings.public_url and not settings.put_url:
        raise errors.InvalidArgumentError("--public-url requires --put-url")
    if settings.public_url and not _is_web_folder(settings.public_url):
        raise errors.InvalidArgumentError(
            "--public-url must be an http or https URL without a query, fragment, user or password"
        )


def _token(variable: str) -> str:
    token = os.environ.get(variable, "").strip()
    if not token:
        raise KeyUnavailableError("no_token", f"the access token is missing: set {variable}")
    return token


def _host_of(url: str) -> str:
    """Return the host and port in a node's URL, without user, password and path, which may contain keys."""
    try:
        return urlsplit(url).netloc.rpartition("@")[2]
    except ValueError:
        return "malformed URL"


def _is_web_folder(url: str) -> bool:
    try:
        parts = urlsplit(url)
        is_place = bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
    return is_place and bool(_WEB_FOLDER.fullmatch(url))


def _wei(amount: str | None, unit: int, option: str) -> int | None:
    """Return the exact amount in wei that an option specifies, or None if the option is omitted."""
    if amount is None:
        return None
    if _AMOUNT.fullmatch(amount) and len(amount) <= _LONGEST:
        wei = _EXACT.multiply(Decimal(amount), Decimal(unit))
        if wei == wei.to_integral_value():
            return int(wei)
    decimals = len(str(unit)) - 1
    raise errors.InvalidArgumentError(
        f"{option} must be a non-negative number with at most {decimals} decimals, not {quoted(amount)}"
    )


def cost_of(transaction: Mapping[str, Any], gas: int) -> str:
    """Return a transaction's maximum cost as text: its gas limit at its maximum fee, plus its value."""
    from bilateral.client.operations.fees import most  # noqa: PLC0415  # slow to import

    return f"{ether(most(transaction))} {symbol_of(int(transaction['chainId']))} ({gas} gas estimated)"


class _Notes(logging.Handler):
    """A logging handler that shows log lines as notes alongside the result."""

    def __init__(self, output: Output) -> None:
        super().__init__()
        self._output = output

    def emit(self, record: logging.LogRecord) -> None:
        """Show a log line."""
        self._output.note(record.getMessage())


@contextmanager
def client_notes(output: Output) -> Iterator[None]:
    """Show clients' notes while the context is open."""
    logger, handler = logging.getLogger("bilateral.client"), _Notes(output)
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
