"""What one command works with: the client that its options describe, and how its result is shown."""

from __future__ import annotations

import re
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, TypeVar
from urllib.parse import urlsplit

from bilateral.cli.errors import UsageProblemError
from bilateral.cli.keys import find_signer
from bilateral.cli.shapes import plain
from bilateral.errors import DocumentTooLargeError, InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from bilateral.cli.output import Output
    from bilateral.client import Client, Handle
    from bilateral.client.inputs import TransactionSigner
    from bilateral.contracts import Deployment
    from bilateral.documents import Store

T = TypeVar("T")

NOT_SENT: Final = "Not sent (dry run): this would be accepted"

_WEB_FOLDER = re.compile(r"https?://[\w.~%:\[\]-]+(/[\w.~%!$&'()*+,;=:@/-]*)?", re.ASCII | re.IGNORECASE)
"""A URL of the web that goes on if something is put behind it (RFC 3986), with no user or password to give away."""

_POLL_SECONDS: Final = 0.25
"""A person waits for the answer, and blocks come every two seconds or sooner on the chains in use."""


@dataclass(frozen=True)
class Settings:
    """The options that commands share.

    Attributes:
        rpc_url: The node's JSON-RPC.
        deployment: A deployment record, instead of the packaged one of the node's chain.
        ipfs_gateways: Gateways to load `ipfs:` documents from, instead of public ones.
        account: The alias of the keystore to sign with.
        passphrase_file: A file that holds its passphrase.
        dry_run: Whether to send nothing.
        wait: Whether to wait until a transaction is in a block.
        timeout: For how many seconds.
        store_folder: A folder to put documents into.
        store_url: The http or https URL at which that folder is published.
        ipfs_api: The API of an IPFS node to put documents into.
    """

    rpc_url: str | None = None
    deployment: Path | None = None
    ipfs_gateways: tuple[str, ...] = ()
    account: str | None = None
    passphrase_file: Path | None = None
    dry_run: bool = False
    wait: bool = True
    timeout: float = 120.0
    store_folder: Path | None = None
    store_url: str | None = None
    ipfs_api: str | None = None


@dataclass
class Session:
    """What one command works with.

    Attributes:
        settings: The options that commands share.
        output: Where results go.
    """

    settings: Settings
    output: Output

    @cached_property
    def signer(self) -> TransactionSigner:
        """The key that the options name.

        Raises:
            KeyUnavailableError: There is none, or it cannot be had.
        """
        return find_signer(self.settings.account, self.settings.passphrase_file, self.output.ask)

    @contextmanager
    def reading(self, what: str = "Asking the node") -> Iterator[Client]:
        """A client that only reads, and a sign that something is going on.

        Args:
            what: What is being waited for.

        Yields:
            The client.
        """
        with self._connected(None) as client, self.output.waiting(what):
            yield client

    @contextmanager
    def signing(self, what: str = "Asking the node") -> Iterator[Client]:
        """A client that signs, and a sign that something is going on.

        Args:
            what: What is being waited for.

        Yields:
            The client.
        """
        with self.client() as client, self.output.waiting(what):
            yield client

    @contextmanager
    def client(self) -> Iterator[Client]:
        """A client that signs.

        Yields:
            The client.
        """
        with self._connected(self.signer) as client:
            yield client

    def write(self, title: str, send: Callable[[Client], Handle[Any]]) -> None:
        """Send a transaction, wait for it unless told not to, and show what became of it.

        Args:
            title: What has happened once the transaction is in a block.
            send: Sends it.
        """
        with self.client() as client:
            handle = self.send(lambda: send(client))
            self.show_write(title, handle, handle.wait)

    def send(self, send: Callable[[], T]) -> T:
        """Send something.

        Args:
            send: Sends it.
        """
        with self.output.waiting("Checking and sending"):
            return send()

    def show_write(self, title: str, handle: Handle[Any], wait: Callable[[float], Any]) -> None:
        """Wait for what was sent, unless told not to, and show what became of it.

        Args:
            title: What has happened once the transaction is in a block.
            handle: What was sent.
            wait: Waits for its result.
        """
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
        if self.output.as_json:
            self.output.result(value)
        else:  # where a result's own fields stand beside the transaction's, and may be a hash
            fields = plain(value["result"]) or {}
            fields = fields if isinstance(fields, dict) else {"result": fields}
            sent = {"transaction": value["transaction"] or handle.hash, "gas": handle.gas}
            self.output.result(fields | sent, title=title)

    def unsent(self, handle: Handle[Any]) -> dict[str, Any]:
        """The transaction that would be signed, were it not a dry run.

        Args:
            handle: What was tried.
        """
        return {"from": self.signer.address, **handle.transaction}

    def wait_for(self, wait: Callable[[float], T]) -> T:
        """Wait for a transaction.

        Args:
            wait: Waits for its result.
        """
        with self.output.waiting("Waiting for it to get into a block"):
            return wait(self.settings.timeout)

    def read_file(self, path: Path) -> bytes:
        """Read a file that the user names; `-` is the standard input.

        Raises:
            DocumentError: It cannot be read, or is too large.
        """
        from bilateral.documents import Limits, Loader  # noqa: PLC0415  # heavy, and for few commands

        if str(path) != "-":
            return Loader().load_file(path).content
        limit = Limits().bytes
        content = sys.stdin.buffer.read(limit + 1)
        if len(content) > limit:
            raise DocumentTooLargeError(limit)
        return content

    @contextmanager
    def _connected(self, signer: TransactionSigner | None) -> Iterator[Client]:
        from bilateral.client import Client  # noqa: PLC0415  # web3.py is heavy, and help needs none of it
        from bilateral.documents import Loader  # noqa: PLC0415

        if not self.settings.rpc_url:
            raise UsageProblemError("no node to ask: give --rpc-url, or set BILATERAL_RPC_URL")
        loader = Loader(gateways=self.settings.ipfs_gateways) if self.settings.ipfs_gateways else Loader()
        with Client(
            self.settings.rpc_url,
            signer=signer,
            deployment=self._deployment(),
            store=self._store(),
            loader=loader,
            dry_run=self.settings.dry_run,
            poll_interval=_POLL_SECONDS,
        ) as client:
            yield client

    def _deployment(self) -> Deployment | None:
        from bilateral.contracts import Deployment  # noqa: PLC0415

        path = self.settings.deployment
        return Deployment.from_record(self.read_file(path)) if path else None

    def _store(self) -> Store | None:
        from bilateral.documents import FolderStore, KuboStore  # noqa: PLC0415

        settings = self.settings
        if settings.ipfs_api and settings.store_folder:
            raise InvalidArgumentError("documents go to --store-folder or to --ipfs-api, not both")
        if settings.store_url and not settings.store_folder:
            raise InvalidArgumentError("--store-url says where --store-folder is published: name that too")
        if settings.store_folder and not settings.store_url:
            raise InvalidArgumentError(
                "--store-folder is read by nobody else: name by --store-url where on the web it is published"
            )
        if settings.store_url and not _is_web_folder(settings.store_url):
            raise InvalidArgumentError(
                "--store-url is not the http or https URL of a folder, without query, fragment, user and password"
            )
        if settings.store_folder:
            return FolderStore(settings.store_folder, settings.store_url)
        return KuboStore(settings.ipfs_api) if settings.ipfs_api else None


def _is_web_folder(url: str) -> bool:
    """Whether everybody can load what a URL leads to once the name of a file is put behind it."""
    try:
        parts = urlsplit(url)
        is_place = bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
    return is_place and bool(_WEB_FOLDER.fullmatch(url))
