"""The codes of the npm package (`npm/source/x402/codes.ts`) are those of Python: none is missing, none is made up."""

from __future__ import annotations

import ast
import re

from scripts._build import ROOT

OWN = {"payment_refused", "policy_declined"}
"""The codes of TypeScript alone: a refusal by the SDK, and one by the policy of a service."""

UNPORTED = {"not_the_client_agent", "no_evidence", "malformed_evidence", "unlisted_token", "reason_not_shown"}
UNPORTED |= {"never_payable", "too_early", "payment_made", "still_payable", "token_not_found", "token_without_eip3009"}
UNPORTED |= {"token_domain_missing", "token_domain_mismatch", "token_domain_unreadable", "file_missing"}
"""The codes of parts that TypeScript does not have: checks of clients, of sellers' own settings, of failures."""

PLACES = {
    "PaymentRefusedError": 0,
    "_failed": 1,
    "_unchecked": 1,
    "PaymentProblemError": 1,
    "InvalidPaymentError": 0,
    "_require": 2,
}
"""The functions whose argument at a place is a code."""

FILES = [
    *(ROOT / "bilateral/x402/proof" / f"{name}.py" for name in ("checking", "examination", "payments", "readers")),
    ROOT / "bilateral/x402/proof/verifier.py",
    ROOT / "bilateral/core/payments/signed.py",
]


def codes_of_typescript():
    text = (ROOT / "npm/source/x402/codes.ts").read_text(encoding="utf-8")
    return set(re.findall(r'\| "([a-z0-9_]+)"', text))


def codes_of_python():
    """Return the codes that stand in calls, as words."""
    found = set()
    for file in FILES:
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in PLACES:
                place = PLACES[node.func.id]
                codes = node.args[place : place + 1] + [word.value for word in node.keywords if word.arg == "code"]
                found |= {
                    code.value for code in codes if isinstance(code, ast.Constant) and isinstance(code.value, str)
                }
    return found


def test_each_code_of_python_is_known_to_typescript():
    codes = codes_of_python()
    assert len(codes) > 30
    assert codes - codes_of_typescript() - UNPORTED == set()


def test_each_code_of_typescript_is_one_of_python():
    folders = ("bilateral/x402/proof", "bilateral/x402/clients", "bilateral/core/payments")
    files = [file for folder in folders for kind in ("*.py", "*.json") for file in (ROOT / folder).rglob(kind)]
    words = {word for file in files for word in re.findall(r'"([a-z0-9_]+)"', file.read_text(encoding="utf-8"))}
    parts = {f"missing_{part}" for part in ("permitted", "witness", "spender")}  # written as f"missing_{part}"
    assert codes_of_typescript() - words - parts - OWN == set()
