"""Checks before money moves: should I pay this server, should I serve this client?

    with snapshot(open_database()) as connection:
        check = check_server(connection, "8453:247", payment=Payment("0x…"), policy=Policy(minimum_rating=80))
    if check.verdict is Verdict.ACCEPT: …

An answer names the block that it was made at. The same call with `at_block` gives the same answer again.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from bilateral.checks.client import check_client
    from bilateral.checks.errors import (
        BlockNotHeldError,
        CheckError,
        FileNotHeldError,
        FindingsNotHeldError,
        HistoryTooLongError,
        OtherHistoryError,
        PaymentsNotHeldError,
        UnknownAgentError,
        UnknownChainError,
        UnknownRegistryError,
    )
    from bilateral.checks.live import LiveCheck, OtherRegistration, check_solana_server
    from bilateral.checks.live_evm import check_live_server
    from bilateral.checks.policy import Newcomers, Policy, Trust, read_policy
    from bilateral.checks.presets import PolicyName
    from bilateral.checks.providers import BuyerRecord, BuyerRecords, Finding, Findings, FoundFindings, ProvenTier
    from bilateral.checks.server import Payment, check_server
    from bilateral.checks.stored import stored_findings
    from bilateral.checks.verdicts import Check, Code, EventEvidence, FileEvidence, Reason, Severity, Verdict
    from bilateral.index.log.database import snapshot

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
    "FoundFindings",
    "HistoryTooLongError",
    "LiveCheck",
    "Newcomers",
    "OtherHistoryError",
    "OtherRegistration",
    "Payment",
    "PaymentsNotHeldError",
    "Policy",
    "PolicyName",
    "ProvenTier",
    "Reason",
    "Severity",
    "Trust",
    "UnknownAgentError",
    "UnknownChainError",
    "UnknownRegistryError",
    "Verdict",
    "check_client",
    "check_live_server",
    "check_server",
    "check_solana_server",
    "read_policy",
    "snapshot",
    "stored_findings",
]

_NAMES: Final = {
    "bilateral.checks.client": ("check_client",),
    "bilateral.checks.errors": (
        *("BlockNotHeldError", "CheckError", "FileNotHeldError", "FindingsNotHeldError", "HistoryTooLongError"),
        *("OtherHistoryError", "PaymentsNotHeldError"),
        *("UnknownAgentError", "UnknownChainError", "UnknownRegistryError"),
    ),
    "bilateral.checks.live": ("LiveCheck", "OtherRegistration", "check_solana_server"),
    "bilateral.checks.live_evm": ("check_live_server",),
    "bilateral.checks.policy": ("Newcomers", "Policy", "Trust", "read_policy"),
    "bilateral.checks.presets": ("PolicyName",),
    "bilateral.checks.providers": ("BuyerRecord", "BuyerRecords", "Finding", "Findings", "FoundFindings", "ProvenTier"),
    "bilateral.checks.server": ("Payment", "check_server"),
    "bilateral.checks.stored": ("stored_findings",),
    "bilateral.checks.verdicts": ("Check", "Code", "EventEvidence", "FileEvidence", "Reason", "Severity", "Verdict"),
    "bilateral.index.log.database": ("snapshot",),
}
"""The names of each module. Modules are imported when a name is asked for, because the database is slow to import."""

_MODULES: Final = {name: module for module, names in _NAMES.items() for name in names}


def __getattr__(name: str) -> Any:
    """Import a name of the package when it is first asked for."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)
