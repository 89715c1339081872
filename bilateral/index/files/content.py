"""The content of feedback files, beside the feedback that names them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FileContent:
    """The file of a feedback. All texts are the word of a stranger.

    Attributes:
        state: `waiting`, `loaded`, `malformed` or `failed`.
        integrity: `inline`, `cid`, `hash` or `variant` if the hash holds; None: only the server's word.
        reason: The kind of failure, if loading failed.
        text: The client's words.
        comment: The client's words in older files.
        mcp_tool: The MCP tool that was used.
        mcp_prompt: The MCP prompt that was used.
        mcp_resource: The MCP resource that was used.
        a2a_skills: The A2A skills that were used, as a JSON list.
        oasf_skills: The OASF skills that were used, as a JSON list.
        oasf_domains: Their domains, as a JSON list.
        payment_from: The payer, by the file's word.
        payment_to: The receiver of the payment.
    """

    state: str
    integrity: str | None
    reason: str | None
    text: str | None
    comment: str | None
    mcp_tool: str | None
    mcp_prompt: str | None
    mcp_resource: str | None
    a2a_skills: str | None
    a2a_task_id: str | None
    oasf_skills: str | None
    oasf_domains: str | None
    payment_from: str | None
    payment_to: str | None
    payment_chain_id: str | None
    payment_transaction: str | None
