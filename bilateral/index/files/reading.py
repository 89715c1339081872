"""Reading of files: the rows that a file's content makes, by the file's kind."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from bilateral.errors import MalformedIdentifierError
from bilateral.identifiers import AccountId, GlobalAgentId
from bilateral.identifiers.caip import base58_bytes
from bilateral.index.files.fields import MAX_NAME, MAX_TEXT, MAX_URI, Fields, stored_text
from bilateral.index.files.hosts import host_rows
from bilateral.index.search.meaning import has_model, vector_row
from bilateral.index.search.words import words_of
from bilateral.index.tables import files as schema
from bilateral.index.tables.files import Kind
from bilateral.index.tables.search import registration_vector, registration_words
from bilateral.text.encoding import decode_object

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy import Table

    ReadRows = Mapping[Table, list[dict[str, Any]]]

_MOST_CAPABILITIES: Final = 2_000  # four times `MAX_ITEMS`: each is a row, and strangers write files

_SCRIPT: Final = re.compile(r"(?:javascript|vbscript|data|file|blob|about|view-source):", re.IGNORECASE)
"""Schemes of URIs at which nobody serves: browsers run them, or look into their own machine."""

_IGNORED: Final = re.compile("[\x00-\x20]+")
"""Characters that browsers leave out of a scheme."""

_CAPABILITIES: Final = {
    "mcp": (
        ("mcp_tool", "mcpTools", "tools"),
        ("mcp_prompt", "mcpPrompts", "prompts"),
        ("mcp_resource", "mcpResources", "resources"),
    ),
    "a2a": (("a2a_skill", "a2aSkills", "skills"),),
    "oasf": (("oasf_skill", "skills"), ("oasf_domain", "domains")),
}
"""The lists of a service, by its kind: the capability, and the names of its list."""

_CARD_SERVICES: Final[Mapping[str, Mapping[str, str]]] = {
    "mcp": {"endpoint": "mcp_endpoint", "version": "mcp_version"},
    "a2a": {"endpoint": "a2a_endpoint", "version": "a2a_version"},
    "web": {"endpoint": "web_endpoint"},
    "oasf": {"endpoint": "oasf_endpoint", "version": "oasf_version"},
    "email": {"endpoint": "email_endpoint"},
    "ens": {"endpoint": "ens"},
    "did": {"endpoint": "did"},
}
"""The columns of `registration_card`, by a service's kind and part."""

_CARD_LISTS: Final[Mapping[str, str]] = {
    "trust": "supported_trusts",
    "mcp_tool": "mcp_tools",
    "mcp_prompt": "mcp_prompts",
    "mcp_resource": "mcp_resources",
    "a2a_skill": "a2a_skills",
    "oasf_skill": "oasf_skills",
    "oasf_domain": "oasf_domains",
}
"""The columns of `registration_card`, by the kind of a capability."""


def read_content(kind: Kind, content_hash: bytes, content: bytes) -> ReadRows:
    """Return the rows that a file's content makes.

    Args:
        kind: The kind of the file. Responses, requests and validations have no format, and make no rows.
        content_hash: The keccak-256 hash of the content.
        content: The content.

    Returns:
        The rows by table.

    Raises:
        MalformedDocumentError: The content is not a JSON object.
    """
    if kind in (Kind.REGISTRATION, Kind.DOMAIN):
        return _registration(content_hash, decode_object(content))
    if kind is Kind.FEEDBACK:
        return _feedback(content_hash, decode_object(content))
    return {}


def _registration(content_hash: bytes, value: dict[str, Any]) -> ReadRows:
    """Read a registration file, of January 2026 or of October 2025."""
    problems: list[str] = []
    fields, key = Fields(value, problems), {"content_hash": content_hash}
    services, capabilities = _services(key, fields, problems)
    for trust in fields.names("supportedTrust", "supportedTrusts"):
        capabilities.append(("trust", trust))
    rows = {
        schema.registration_service: services,
        schema.registration_domain: host_rows(key, services),
        schema.registration_capability: [
            {**key, "kind": kind, "position": position, "value": name}
            for position, (kind, name) in enumerate(dict.fromkeys(capabilities[:_MOST_CAPABILITIES]))
        ],
        schema.registration_claim: [
            {**key, "position": position, **_claim(Fields(entry, problems, f"registrations.{position}."))}
            for position, entry in enumerate(fields.items("registrations"))
        ],
    }
    rows[schema.registration_file] = [
        {
            **key,
            "type": fields.text("type"),
            "name": fields.text("name"),
            "description": fields.text("description", limit=MAX_TEXT),
            "image": fields.text("image", limit=MAX_URI),
            "active": fields.flag("active"),
            "x402_support": fields.flag("x402Support", "x402support"),
            "problems": listed(problems),
        }
    ]
    rows[schema.registration_card] = [{**key, **_card(services, rows[schema.registration_capability])}]
    words = search_words(rows)
    rows[registration_words] = [{**key, **words}]
    if has_model():
        (file,) = rows[schema.registration_file]
        named = [capability["value"] for capability in rows[schema.registration_capability]]
        rows[registration_vector] = [vector_row(content_hash, file["name"], file["description"], named, words["words"])]
    return rows


def _card(services: list[dict[str, Any]], capabilities: list[dict[str, Any]]) -> dict[str, Any]:
    """Return services and capabilities side by side. Of several services of a kind the last one counts."""
    columns = dict.fromkeys(name for names in _CARD_SERVICES.values() for name in names.values())
    for service in services:
        for part, name in _CARD_SERVICES.get(service["name"].lower(), {}).items():
            columns[name] = service[part] or columns[name]
    shown = ("name", "endpoint", "version")
    columns["services"] = listed(
        [{part: service[part] for part in shown if service[part] is not None} for service in services]
    )
    for kind, name in _CARD_LISTS.items():
        columns[name] = listed([capability["value"] for capability in capabilities if capability["kind"] == kind])
    return columns


def search_words(rows: ReadRows) -> dict[str, list[str]]:
    """Return the words by which searches find a registration file.

    Args:
        rows: The rows that it makes.
    """
    (file,) = rows[schema.registration_file]
    services = (row["name"] for row in rows[schema.registration_service])
    capabilities = (row["value"] for row in rows[schema.registration_capability])
    return {
        "name_words": words_of([file["name"]]),
        "words": words_of([file["name"], *services, file["description"], *capabilities]),
    }


def _services(
    key: dict[str, bytes], fields: Fields, problems: list[str]
) -> tuple[list[dict[str, Any]], list[tuple[str, str]]]:
    """Return the rows of an agent's services, and its capabilities with their kinds."""
    rows, capabilities = [], []
    for position, entry in enumerate(fields.items("services", "endpoints")):
        service = Fields(entry, problems, f"services.{position}.")
        name = service.text("name", limit=100) or ""
        endpoint, version = service.text("endpoint", limit=MAX_URI), service.text("version")
        if endpoint and _SCRIPT.match(_IGNORED.sub("", endpoint)):
            service.note("endpoint", "the address of a service")
            continue
        rows.append({**key, "position": position, "name": name, "endpoint": endpoint, "version": version})
        for kind, *names in _CAPABILITIES.get(name.lower(), ()):
            capabilities += [(kind, name) for name in service.names(*names)]
    return rows, capabilities


def _claim(entry: Fields) -> dict[str, Any]:
    """Return the columns of an agent's entry in a registry. Addresses of EVM chains take their checksum form.

    The address of an agent on Solana has 32 bytes, and is stored as their number.
    """
    registry, agent_id = entry.text("agentRegistry") or "", entry.number("agentId")
    with suppress(MalformedIdentifierError):
        account = AccountId.parse(registry, verify_checksum=False)
        registry = str(account)
        if not account.chain.is_evm:
            agent_id, agent = None, (entry.text("agentId") or "").removeprefix(f"{account.chain}:")
            agent_id = int.from_bytes(base58_bytes(GlobalAgentId(account, agent).agent))
    return {"agent_registry": stored_text(registry, MAX_NAME), "agent_id": agent_id}


def _feedback(content_hash: bytes, value: dict[str, Any]) -> ReadRows:
    """Read a feedback file, of the best practices, the x402 extension, or its upstream draft."""
    problems: list[str] = []
    fields = Fields(value, problems)
    mcp, a2a, oasf = fields.object("mcp"), fields.object("a2a"), fields.object("oasf")
    payment, proof = fields.object("proofOfPayment"), fields.object("proofOfInteraction")
    row = {
        "content_hash": content_hash,
        "agent_registry": fields.text("agentRegistry"),
        "agent_id": fields.text("agentId"),
        "client_address": fields.text("clientAddress"),
        "created_at": fields.text("createdAt"),
        "value": fields.text("value", "score"),
        "value_decimals": fields.text("valueDecimals"),
        "tag1": fields.text("tag1"),
        "tag2": fields.text("tag2"),
        "endpoint": fields.text("endpoint", limit=MAX_URI),
        "text": fields.text("text", limit=MAX_TEXT),
        "comment": fields.text("comment", limit=MAX_TEXT) or fields.text("reasoning", limit=MAX_TEXT),
        "mcp_tool": mcp.text("tool"),
        "mcp_prompt": mcp.text("prompt"),
        "mcp_resource": mcp.text("resource", limit=MAX_URI),
        "a2a_skills": listed(a2a.names("skills")),
        "a2a_context_id": a2a.text("contextId"),
        "a2a_task_id": a2a.text("taskId"),
        "oasf_skills": listed(oasf.names("skills")),
        "oasf_domains": listed(oasf.names("domains")),
        "payment_from": payment.text("fromAddress"),
        "payment_to": payment.text("toAddress"),
        "payment_chain_id": payment.text("chainId"),
        "payment_transaction": payment.text("txHash"),
        "task_ref": fields.text("taskRef", limit=MAX_URI) or proof.text("taskRef", limit=MAX_URI),
        "interaction_hash": fields.text("interactionHash"),
        "agent_signature": fields.text("agentSignature", limit=MAX_URI) or proof.text("agentSignature", limit=MAX_URI),
        "client_signature": (
            fields.text("clientSignature", limit=MAX_URI) or proof.text("reviewerSignature", limit=MAX_URI)
        ),
        "problems": "",
    }
    row["problems"] = listed(problems)
    return {schema.feedback_file: [row]}


def listed(entries: list[Any]) -> str:
    """Return texts as a JSON list, in the form in which columns hold it."""
    return json.dumps(entries, ensure_ascii=False)
