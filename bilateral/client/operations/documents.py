"""Loading and storing documents during an operation."""

import math
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, TypeVar

from bilateral.client.state import ClientState, hash_bytes
from bilateral.core.errors import DocumentError, DocumentTimeoutError, HashMismatchError, InvalidArgumentError
from bilateral.documents import DataUriStore, StoredDocument
from bilateral.documents.hashing import NO_HASH, document_hash
from bilateral.documents.model import DocumentModel
from bilateral.node.steps import Blocking, Operation

M = TypeVar("M", bound="DocumentModel")

_AT_A_TIME: Final = 16
"""How many documents to load at a time, so that one slow server hardly delays the other documents."""

_PLACEHOLDER: Final = "ipfs://" + "b" * 59  # the length of a CID of version 1 in base32


def load(
    state: ClientState, model: type[M], uri: str, expected_hash: bytes = NO_HASH
) -> Operation[tuple[M | None, DocumentError | None]]:
    """Load a document from an untrusted URI. Failures are returned, not raised."""
    (loaded,) = yield from load_all(state, model, [(uri, expected_hash)])
    return loaded


def load_all(
    state: ClientState, model: type[M], links: Sequence[tuple[str, bytes]], seconds: float = math.inf
) -> Operation[list[tuple[M | None, DocumentError | None]]]:
    """Load many documents like `load`, several at a time, so that one slow server hardly delays the other documents."""
    end = time.monotonic() + seconds

    def read(link: tuple[str, bytes]) -> tuple[M | None, DocumentError | None]:
        try:
            if time.monotonic() >= end:
                raise DocumentTimeoutError(seconds)  # the same error as from the loader
            return model.from_bytes(state.loader.load(*link).content), None
        except HashMismatchError as mismatch:
            try:
                return (model.from_bytes(mismatch.content) if mismatch.variant else None), mismatch
            except DocumentError:
                return None, mismatch
        except DocumentError as problem:
            return None, problem

    def read_all() -> list[tuple[M | None, DocumentError | None]]:
        if len(links) == 1:
            return [read(links[0])]
        with ThreadPoolExecutor(_AT_A_TIME) as pool:
            return list(pool.map(read, links))

    loaded: list[tuple[M | None, DocumentError | None]] = yield Blocking(read_all)
    return loaded


@dataclass(frozen=True)
class Unstored:
    """A placeholder, in a call's arguments, for the URI of a document that is not stored yet.

    Attributes:
        content: The document.
    """

    content: bytes

    @property
    def hash(self) -> bytes:
        """The keccak-256 hash of the document."""
        return document_hash(self.content)


def are_published(state: ClientState, arguments: Sequence[Any]) -> bool:
    """Return whether storing a call's documents would publish them, even if the call later failed."""
    return not isinstance(state.store, DataUriStore) and any(isinstance(argument, Unstored) for argument in arguments)


def rehearsed(arguments: Sequence[Any]) -> tuple[Any, ...]:
    """Return a call's arguments for simulation, with a placeholder of typical length for each URI not yet known."""
    return tuple(_PLACEHOLDER if isinstance(argument, Unstored) else argument for argument in arguments)


def settled(state: ClientState, arguments: Sequence[Any]) -> Operation[tuple[Any, ...]]:
    """Save the documents in a call's arguments to the client's store, and return the arguments with their URIs."""
    uris = []
    for argument in arguments:
        if isinstance(argument, Unstored):
            stored: StoredDocument = yield Blocking(partial(state.store.put, argument.content))
            uris.append(stored.uri)
        else:
            uris.append(argument)
    return tuple(uris)


def link(uri: str, hash_: bytes | str | None, name: str) -> tuple[str, bytes]:
    """Return a URI and the hash of its content, after checking the caller's arguments."""
    if hash_ is not None and not uri:
        raise InvalidArgumentError(f"{name} requires a URI, because it is the hash of the content at that URI")
    return uri, hash_bytes(hash_, name)
