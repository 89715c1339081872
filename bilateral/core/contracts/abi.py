"""The registry contracts and their ABIs, which the build copies from the compiler's output."""

import json
import re
from collections.abc import Mapping
from enum import StrEnum
from functools import cache
from importlib.resources import files
from typing import Any

from eth_hash.auto import keccak


class Registry(StrEnum):
    """A registry contract, identified by its Solidity name."""

    IDENTITY = "IdentityRegistry"
    REPUTATION = "ReputationRegistry"
    BIDIRECTIONAL = "BidirectionalReputationRegistry"
    AUTHORIZED = "AuthorizedReputationRegistry"
    VALIDATION = "ValidationRegistry"
    COMPANION = "CompanionDirectory"
    BUYERS = "BuyerReputationRegistry"
    TIER_PROOFS = "BuyerTierProofs"


@cache
def abi(registry: Registry) -> tuple[Mapping[str, Any], ...]:
    """Return the ABI of a registry.

    Returns:
        The compiler's entries for functions, events, errors and the constructor. The entries are shared between
        callers, so do not modify them.
    """
    return tuple(json.loads((files("bilateral") / "abi" / f"{registry}.json").read_text(encoding="utf-8")))


@cache
def selectors(registry: Registry, kind: str) -> Mapping[bytes, Mapping[str, Any]]:
    """Return a registry's ABI entries of one kind, keyed by 4-byte selector or, for events, by 32-byte topic.

    Args:
        kind: `function`, `error` or `event`.
    """
    length = 32 if kind == "event" else 4
    return {selector_of(entry)[:length]: entry for entry in abi(registry) if entry["type"] == kind}


def selector_of(entry: Mapping[str, Any]) -> bytes:
    """Hash the signature of a function, error or event. The selector is the first four bytes of the hash."""
    return keccak(f"{entry['name']}({','.join(map(type_of, entry['inputs']))})".encode())


def type_of(part: Mapping[str, Any]) -> str:
    """Return a parameter's type as written in a signature: for a struct, its fields' types in parentheses."""
    kind = str(part["type"])
    if not kind.startswith("tuple"):
        return kind
    return f"({','.join(map(type_of, part['components']))}){kind.removeprefix('tuple')}"


def snake_case(name: str) -> str:
    """Convert a Solidity name to snake_case: `URIUpdated` becomes `uri_updated`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()
