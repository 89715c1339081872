"""Checks before money moves: should I pay this server, should I serve this client?

    with snapshot(open_database()) as connection:
        check = check_server(connection, "8453:247", payment=Payment("0x…"), policy=Policy(minimum_rating=80))
    if check.verdict is Verdict.ACCEPT: …

An answer contains the block on which it is based. To reproduce the answer later, pass that block as `at_block`.
"""

# ruff: noqa: F403, F405  # `__all__` lists what is public of the errors

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from bilateral.checks.errors import *

if TYPE_CHECKING:
    from bilateral.checks.facts import OtherRegistration, Payment
    from bilateral.checks.from_index.answers import check_client, check_server
    from bilateral.checks.from_index.as_of_block import BuyerRecords, Findings, stored_findings
    from bilateral.checks.from_node import check_live_server
    from bilateral.checks.from_solana import check_solana_server
    from bilateral.checks.judge import Check, LiveCheck
    from bilateral.checks.policy import Newcomers, Policy, PolicyName, Trust, read_policy
    from bilateral.checks.verdicts import *
    from bilateral.index.log.database import snapshot

__all__ = ["Newcomers", "OtherRegistration", "Payment", "Policy", "PolicyName", "Trust", "read_policy", "snapshot"]
__all__ += ["check_client", "check_live_server", "check_server", "check_solana_server", "stored_findings"]
__all__ += ["Check", "Code", "EventEvidence", "FileEvidence", "LiveCheck", "Reason", "Severity", "Verdict"]
__all__ += ["BuyerRecord", "BuyerRecords", "Finding", "Findings", "FoundFindings", "ProvenTier"]
__all__ += ["BlockNotHeldError", "CheckError", "FileNotHeldError", "FindingsNotHeldError", "HistoryTooLongError"]
__all__ += ["OtherHistoryError", "PaymentsNotHeldError"]
__all__ += ["UnknownAgentError", "UnknownChainError", "UnknownRegistryError"]

_NAMES: Final = {
    "bilateral.checks.facts": "OtherRegistration Payment",
    "bilateral.checks.from_index.answers": "check_client check_server",
    "bilateral.checks.from_index.as_of_block": "BuyerRecords Findings stored_findings",
    "bilateral.checks.from_node": "check_live_server",
    "bilateral.checks.from_solana": "check_solana_server",
    "bilateral.checks.judge": "Check LiveCheck",
    "bilateral.checks.policy": "Newcomers Policy PolicyName Trust read_policy",
    "bilateral.checks.verdicts": "BuyerRecord Code EventEvidence FileEvidence Finding FoundFindings ProvenTier Reason "
    "Severity Verdict",
    "bilateral.index.log.database": "snapshot",
}
"""Names from slow-to-import modules. Each module is imported when one of its names is first used."""

_MODULES: Final = {name: module for module, names in _NAMES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    """Import one of the package's names on first use."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)
