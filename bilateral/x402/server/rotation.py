"""Rotation of the keys that sign an agent's answers ("Key Rotation"): add keys, retire them, and list them.

    add_signer(client, 42, new_key).wait()
    retire_signer(client, 42, old_key.public_key).wait()

Both functions store the changed registration file and set the agent's URI. By default, a retired key remains valid for
another 24 hours, so that clients can still verify answers that are in transit, or check answers against the old file.
"""

from datetime import UTC, datetime, timedelta
from typing import Any, Final, Literal, TypedDict, Unpack

from bilateral.client import AgentLike, AgentUriSet, Client, Handle
from bilateral.core.errors import InvalidArgumentError, MalformedDocumentError
from bilateral.documents import Signer
from bilateral.x402.proof.checking import MAX_SIGNERS
from bilateral.x402.proof.keys import InteractionKey, check_key

OVERLAP: Final = timedelta(hours=24)  # the grace period of the extension's section on rotation
CLOCK_SKEW: Final = timedelta(minutes=1)
"""How long before the current time a new key becomes valid, because clients' clocks and block times lag by seconds."""


def list_signers(client: Client, agent_id: AgentLike) -> list[Signer]:
    """Return all keys that an agent's registration file lists, including those that are not valid.

    Raises:
        DocumentError: The file cannot be loaded.
        InvalidArgumentError: The agent has no file.
    """
    agent = client.load_agent(agent_id)
    if agent.file_problem is not None:
        raise agent.file_problem
    if agent.file is None:
        raise InvalidArgumentError(f"agent {agent.id} has no registration file: set one first")
    return list(agent.file.signers or [])


class SignerOptions(TypedDict, total=False):
    """Additional fields for a listed key. See `add_signer`."""

    role: Literal["owner", "delegate"]
    valid_from: datetime | None
    valid_until: datetime | None
    comment: str | None


def add_signer(
    client: Client, agent_id: AgentLike, key: InteractionKey, **options: Unpack[SignerOptions]
) -> Handle[AgentUriSet]:
    """Add a key to an agent's registration file. Begin signing with it once the transaction is in a block.

    Args:
        client: The agent owner's SDK client.
        key: The key. It must sign a test message, so that a wrong public key is never listed.
        **options: `role`, the role of the key's holder (default: `delegate`); `valid_from`, when the key becomes valid
            (default: a minute ago); `valid_until`, when it expires (default: never); `comment`, a note for human
            readers.

    Raises:
        InvalidArgumentError: The key is already listed, or the file lists 64 keys.
        InvalidKeyError: The key failed to sign.
        DocumentError: The file cannot be loaded.
    """
    check_key(key)
    return add_public_key(client, agent_id, key.public_key, key.algorithm, **options)


def add_public_key(
    client: Client, agent_id: AgentLike, public_key: str, algorithm: str, **options: Unpack[SignerOptions]
) -> Handle[AgentUriSet]:
    """Add a key by its public key, from a program that does not hold the private key. No test message is signed."""
    listed = list_signers(client, agent_id)
    if any(signer.public_key.lower() == public_key.lower() for signer in listed):
        raise InvalidArgumentError(f"the key {public_key[:16]}… is already listed")
    if len(listed) >= MAX_SIGNERS:
        raise InvalidArgumentError(f"the file lists {len(listed)} keys, but clients accept at most {MAX_SIGNERS}")
    entry: dict[str, Any] = {"publicKey": public_key, "algorithm": algorithm, "role": options.get("role", "delegate")}
    entry["validFrom"] = _seconds(options.get("valid_from") or datetime.now(UTC) - CLOCK_SKEW)
    until, comment = options.get("valid_until"), options.get("comment")
    entry["validUntil"] = None if until is None else _seconds(until)
    entry |= {} if comment is None else {"comment": comment}
    try:
        Signer.of(entry)
    except MalformedDocumentError as error:
        raise InvalidArgumentError(f"the key cannot be listed: {error}") from None
    return client.edit_registration(agent_id, fields={"signers": [*(signer.to_object() for signer in listed), entry]})


def retire_signer(
    client: Client, agent_id: AgentLike, public_key: str, *, overlap: timedelta = OVERLAP
) -> Handle[AgentUriSet]:
    """Let a key expire. It remains in the file, so that historical verification still accepts its signatures.

    Args:
        client: The agent owner's SDK client.
        public_key: The key, in hexadecimal digits.
        overlap: How long the key remains valid. Pass `timedelta(0)` for a stolen key.

    Raises:
        InvalidArgumentError: The key is not listed, has expired, or expires before the overlap ends.
        DocumentError: The file cannot be loaded.
    """
    now, listed = datetime.now(UTC), list_signers(client, agent_id)
    versions = [signer for signer in listed if signer.public_key.lower() == public_key.lower()]
    if not any(version.valid_until is None or version.valid_until > now.timestamp() for version in versions):
        raise InvalidArgumentError(f"the registration file lists no valid key {public_key[:16]}…")
    until, entries = _seconds(now + overlap), [signer.to_object() for signer in listed]
    for signer, entry in zip(listed, entries, strict=True):
        if signer in versions:
            entry["validUntil"] = until if signer.valid_until is None else min(signer.valid_until, until)
    return client.edit_registration(agent_id, fields={"signers": entries})


def _seconds(time: datetime) -> int:
    if time.tzinfo is None:
        raise InvalidArgumentError("the time has no time zone: pass a datetime with tzinfo")
    return int(time.timestamp())
