"""Read files: derive rows from a file's content, depending on the file's kind.

As everywhere else, the `bilateral.documents` models parse the files, so the index and a seller's check interpret a file
in the same way. Entire files are stored in `file_content`. The length of texts in columns is limited, so that one agent
cannot fill the search indexes.
"""

import json
import re
import threading
from collections.abc import Mapping, Sequence
from functools import lru_cache
from hashlib import sha256
from itertools import islice
from typing import Any, Final, TypeAlias

from sqlalchemy import Connection, Engine, Table

from bilateral import documents
from bilateral.core.errors import MalformedIdentifierError, UnsupportedUriError
from bilateral.core.identifiers import AccountId
from bilateral.core.identifiers.caip import base58_bytes
from bilateral.core.text.encoding import decode_object
from bilateral.documents.feedback import A2aUse, McpUse, OasfUse
from bilateral.documents.http import host_of, netloc_of
from bilateral.documents.model import MAX_ITEMS
from bilateral.index.files import tables as schema
from bilateral.index.files.tables import Kind

ReadRows: TypeAlias = Mapping[Table, list[dict[str, Any]]]


class Reader:
    """Derives rows from registration files. Its methods do nothing unless overridden.

    Attributes:
        tables: The reader's tables. In a table with a `content_hash` column, each row belongs to one file's content.
    """

    tables: Sequence[Table] = ()

    def read(self, content_hash: bytes, rows: ReadRows, file: documents.RegistrationFile) -> ReadRows:  # noqa: ARG002
        """Return additional rows for a registration file."""
        return {}

    def stored(self, connection: Connection, rows: ReadRows) -> None:
        """Process the rows derived from a file's content, within the transaction that stores them."""

    def catch_up(self, engine: Engine, stop: threading.Event) -> int:  # noqa: ARG002
        """Derive missing rows from stored contents until `stop` is set. Return the number of processed contents."""
        return 0


_MOST_HOSTS: Final = 3
"""The maximum number of hosts to contact per registration file, so that a file cannot burden many servers."""

_REGISTRATION_PATH: Final = "/.well-known/agent-registration.json"
MAX_HOST: Final = 290
"""The maximum length of a host with its port, in characters. DNS names have up to 253, and the column has 300."""

_NAME: Final = re.compile("[a-z0-9._:-]+")
"""The only characters allowed in hosts, which people and AI models see: those of DNS names and IP addresses."""

_NOT_HOST: Final = re.compile(r"[/?#@\\\s]")
"""The characters that cannot be part of a URL's host and port."""


def file_id_of(kind: Kind, uri: str, expected_hash: bytes | None) -> bytes:
    """Return a file's id, which depends only on the file's kind, URI and expected hash."""
    return sha256(b"\0".join((kind.encode(), expected_hash or b"", uri.encode()))).digest()


def registration_uri(host: str) -> str:
    """Return the URI of the registration file in which a domain lists its agents."""
    return f"https://{host}{_REGISTRATION_PATH}"


def domain_uri(domain: str) -> str | None:
    """Return the URI of the file in which a domain, set in ERC-8004's August 2025 version, lists its agents."""
    host = None if _NOT_HOST.search(domain) else secure_host(f"https://{domain}")
    return None if host is None else registration_uri(host)


def secure_host(uri: str) -> str | None:
    """Return an https URI's host, with the port unless it is 443; None for other URIs and invalid hosts."""
    if uri[:8].lower() != "https://":
        return None
    try:
        (host, port), name = host_of(uri), netloc_of(uri)
        is_same = ":" not in host or host_of(registration_uri(name)) == (host, port)
    except UnsupportedUriError:
        return None
    return name if is_same and len(name) <= MAX_HOST and _NAME.fullmatch(host) else None


_MAX_SERVICE_NAME: Final = 100

_MAX_DIGITS: Final = 78  # the number of digits of 2**256

_MAX_NAME: Final = 200
"""The maximum length of a name, a kind of service, a skill or a tag, in characters."""

_MAX_URI: Final = 2_000
"""The maximum length of a URI, in characters. Search does not need images in data URIs."""

_MAX_TEXT: Final = 10_000
"""The maximum length of a description or comment, in characters."""

_MOST_CAPABILITIES: Final = 2_000  # four times `MAX_ITEMS`, because each is a row and strangers write files

_SCRIPT: Final = re.compile(r"(?:javascript|vbscript|data|file|blob|about|view-source):", re.IGNORECASE)
"""URI schemes without a server. Browsers execute such URIs, or read local data."""

_IGNORED: Final = re.compile("[\x00-\x20]+")
"""Characters that browsers ignore in a scheme."""


def read_content(kind: Kind, content_hash: bytes, content: bytes, readers: Sequence[Reader] = ()) -> ReadRows:
    """Return the rows derived from a file's content."""
    if kind in (Kind.REGISTRATION, Kind.DOMAIN):
        file = documents.RegistrationFile.read(decode_object(content), is_strict=False)
        rows = _registration(content_hash, file)
        for reader in readers:
            rows |= reader.read(content_hash, rows, file)
        return rows
    if kind is Kind.FEEDBACK:
        return _feedback(content_hash, decode_object(content))
    return {}


def _registration(content_hash: bytes, file: documents.RegistrationFile) -> dict[Table, list[dict[str, Any]]]:
    key, problems = {"content_hash": content_hash}, list(file.faults)
    services, names = _services(key, file.all_services, problems)
    names += [("trust", trust[:_MAX_NAME]) for trust in file.supported_trust or () if trust]
    capabilities = [
        {**key, "kind": kind, "position": position, "value": _stored(name, _MAX_NAME)}
        for position, (kind, name) in enumerate(dict.fromkeys(names[:_MOST_CAPABILITIES]))
    ]
    hosts = filter(None, dict.fromkeys(secure_host(service["endpoint"] or "") for service in services))
    domains = [
        {**key, "position": position, "host": host, "file_id": file_id_of(Kind.DOMAIN, registration_uri(host), None)}
        for position, host in enumerate(islice(hosts, _MOST_HOSTS))
    ]
    claims = enumerate((file.registrations or [])[:MAX_ITEMS])
    row = {
        "type": _stored(file.type, _MAX_NAME),
        "name": _stored(file.name, _MAX_NAME),
        "description": _stored(file.description, _MAX_TEXT),
        "image": _stored(file.image, _MAX_URI),
        "active": file.active,
        "x402_support": file.x402_support,
        "problems": listed(problems),
    }
    return {
        schema.registration_service: services,
        schema.registration_domain: domains,
        schema.registration_capability: capabilities,
        schema.registration_claim: [{**key, "position": position, **_claim(entry)} for position, entry in claims],
        schema.registration_file: [{**key, **row}],
        schema.registration_card: [{**key, **_card(services, capabilities)}],
    }


def _card(services: list[dict[str, Any]], capabilities: list[dict[str, Any]]) -> dict[str, Any]:
    """Return services and capabilities as a pair. If several services have the same kind, the last one counts."""
    columns = dict.fromkeys(name for names in schema.CARD_SERVICES.values() for name in names.values())
    for service in services:
        for part, name in schema.CARD_SERVICES.get(service["name"].lower(), {}).items():
            columns[name] = service[part] or columns[name]
    parts = ("name", "endpoint", "version")
    columns["services"] = listed([{part: row[part] for part in parts if row[part] is not None} for row in services])
    for kind, name in schema.CARD_LISTS.items():
        columns[name] = listed([capability["value"] for capability in capabilities if capability["kind"] == kind])
    return columns


def _services(
    key: dict[str, bytes], services: list[documents.Service], problems: list[str]
) -> tuple[list[dict[str, Any]], list[tuple[str, str]]]:
    rows, capabilities = [], []
    for position, service in enumerate(services):
        name = _stored(service.name, _MAX_SERVICE_NAME) or ""
        endpoint, version = _stored(service.endpoint, _MAX_URI), _stored(service.version, _MAX_NAME)
        if endpoint and _SCRIPT.match(_IGNORED.sub("", endpoint)):
            problems.append(f"services.{position}.endpoint is not the address of a service")
            continue
        rows.append({**key, "position": position, "name": name, "endpoint": endpoint, "version": version})
        for kind, *lists in schema.CAPABILITIES.get(name.lower(), ()):
            entries = (service.model_extra or {}).get
            field = next((field for field in lists if entries(field) is not None), None)
            if field is not None:
                place = f"services.{position}.{field}"
                capabilities += [(kind, text) for text in _names(place, entries(field), problems)]
    return rows, capabilities


def _names(place: str, entries: Any, problems: list[str]) -> list[str]:
    """Return the entries of a list as strings. An object is represented by its `name` or `id`."""
    if not isinstance(entries, list):
        problems.append(f"{place} is not a list")
        return []
    texts = [
        (entry.get("name") or entry.get("id")) if isinstance(entry, dict) else entry for entry in entries[:MAX_ITEMS]
    ]
    names = [text[:_MAX_NAME] for text in texts if isinstance(text, str) and text]
    if len(names) < len(texts):
        problems.append(f"{place} is not a list of strings")
    return names


def _claim(entry: documents.Registration) -> dict[str, Any]:
    """Return an entry's columns. EVM addresses get a checksum, and 32-byte ids from a foreign chain become a number."""
    (registry, is_foreign), agent_id = _registry(entry.agent_registry), _token_id(entry.agent_id)
    if is_foreign:
        agent_id = None if entry.agent is None else int.from_bytes(base58_bytes(entry.agent.agent))
    return {"agent_registry": _stored(registry, _MAX_NAME), "agent_id": agent_id}


@lru_cache(maxsize=256)  # most files list one of a few registries
def _registry(text: str) -> tuple[str, bool]:
    # The text as it is if it is malformed.
    try:
        account = AccountId.parse(text, verify_checksum=False)
    except MalformedIdentifierError:
        return text, False
    return str(account), not account.chain.is_evm


def _token_id(agent_id: int | str | None) -> int | None:
    """Return an unsigned integer of up to 256 bits, given as a number or as digits; None for anything else."""
    if isinstance(agent_id, str):
        is_number = agent_id.isascii() and agent_id.isdigit() and len(agent_id) <= _MAX_DIGITS
        agent_id = int(agent_id) if is_number else None
    return agent_id if agent_id is not None and 0 <= agent_id < 2**256 else None


_FEEDBACK_TEXTS: Final = (
    *("agent_registry", "agent_id", "client_address", "created_at", "value_decimals", "tag1", "tag2"),
    "interaction_hash",
)
"""The fields of a feedback file that have a column of the same name."""


def _feedback(content_hash: bytes, value: dict[str, Any]) -> ReadRows:
    file = documents.FeedbackFile.read(value, is_strict=False)
    mcp, a2a, oasf = file.mcp or McpUse(), file.a2a or A2aUse(), file.oasf or OasfUse()
    payment = file.proof_of_payment or documents.ProofOfPayment()
    proof = file.proof_of_interaction or documents.ProofOfInteraction()
    score = (file.model_extra or {}).get("score") if file.value is None else file.value  # the name in August 2025
    texts = {name: getattr(file, name) for name in _FEEDBACK_TEXTS}
    texts |= {"value": score if isinstance(score, (int, float)) else None, "mcp_tool": mcp.tool}
    texts |= {"mcp_prompt": mcp.prompt, "a2a_context_id": a2a.context_id, "a2a_task_id": a2a.task_id}
    texts |= {"payment_from": payment.from_address, "payment_to": payment.to_address}
    texts |= {"payment_chain_id": payment.chain_id, "payment_transaction": payment.tx_hash}
    uris = {
        "endpoint": file.endpoint,
        "mcp_resource": mcp.resource,
        "task_ref": file.task_ref or proof.task_ref,
        "agent_signature": file.agent_signature or proof.agent_signature,
        "client_signature": file.client_signature or proof.reviewer_signature,
    }
    lists = {"a2a_skills": a2a.skills, "oasf_skills": oasf.skills, "oasf_domains": oasf.domains}
    row = {
        "content_hash": content_hash,
        **{name: _stored(text, _MAX_NAME) for name, text in texts.items()},
        **{name: _stored(text, _MAX_URI) for name, text in uris.items()},
        **{
            name: listed([_stored(text, _MAX_NAME) for text in dict.fromkeys((entries or [])[:MAX_ITEMS])])
            for name, entries in lists.items()
        },
        "text": _stored(file.text, _MAX_TEXT),
        "comment": _stored(file.comment or file.reasoning, _MAX_TEXT),
        "problems": listed(list(file.faults)),
    }
    return {schema.feedback_file: [row]}


def _stored(value: str | float | None, limit: int) -> str | None:
    """Return the start of a text or of a number's digits. U+FFFD replaces NUL, which PostgreSQL cannot store."""
    if value is None:
        return None
    text = value if isinstance(value, str) else json.dumps(value)
    return text[:limit].replace("\0", "\N{REPLACEMENT CHARACTER}")


def listed(entries: list[Any]) -> str:
    """Return strings or objects as a JSON list, in the form stored in columns."""
    if all(isinstance(entry, str) for entry in entries):  # an encoder takes longer to begin a list than to write it
        return f"[{', '.join(map(_ENCODER.encode, entries))}]"
    return _ENCODER.encode(entries)


_ENCODER: Final = json.JSONEncoder(ensure_ascii=False, check_circular=False)
