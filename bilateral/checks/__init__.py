"""Checks before money moves: should I pay this server, should I serve this client?

    with snapshot(open_database()) as connection:
        check = check_server(connection, "8453:247", payment=Payment("0x…"), policy=Policy(minimum_rating=80))
    if check.verdict is Verdict.ACCEPT: …

An answer names the block that it was made at. The same call with `at_block` gives the same answer again.
"""

from __future__ import annotations

from bilateral.checks.client import check_client
from bilateral.checks.errors import (
    BlockNotHeldError,
    CheckError,
    FileNotHeldError,
    FindingsNotHeldError,
    HistoryTooLongError,
    OtherHistoryError,
    UnknownAgentError,
    UnknownChainError,
)
from bilateral.checks.moments import snapshot
from bilateral.checks.policy import Newcomers, Policy, Trust, read_policy
from bilateral.checks.seams import BuyerRecord, BuyerRecords, Finding, Findings
from bilateral.checks.server import Payment, check_server
from bilateral.checks.stored import stored_findings
from bilateral.checks.verdicts import Check, Code, EventEvidence, FileEvidence, Reason, Severity, Verdict

__all__ = [
    "BlockNotHeldError",
    "BuyerRecord",
    "BuyerRecords",
    "Check",
    "CheckError",
    "Code",
    "EventEvidence",
    "FileEvidence",
    "FileNotHeldError",
    "Finding",
    "Findings",
    "FindingsNotHeldError",
    "HistoryTooLongError",
    "Newcomers",
    "OtherHistoryError",
    "Payment",
    "Policy",
    "Reason",
    "Severity",
    "Trust",
    "UnknownAgentError",
    "UnknownChainError",
    "Verdict",
    "check_client",
    "check_server",
    "read_policy",
    "snapshot",
    "stored_findings",
]
