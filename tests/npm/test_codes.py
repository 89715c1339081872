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

OWN_OF_SELLERS = {"body_read_before", "facilitator_unavailable", "handler_failed", "payment_processing_failed"}
"""The codes of TypeScript alone: a body parser before `paid`, and failures that the frameworks of Python answer."""

UNPORTED_OF_SELLERS = {"request_not_signable", "settlement_before_tool_call"}
"""The codes of MCP tools, which TypeScript does not sell."""

WORDS_OF_PYTHON = {"for_server", "is_unused", "iter_route_contexts", "media_type", "more_body", "payment_payload"}
WORDS_OF_PYTHON |= {"bilateral_x402_exchange", "failed_settlements", "query_string", "raw_path", "response_class"}
"""Words of sellers in Python that are no codes."""

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


def words_of(*files, pattern=r'"([a-z0-9]+(?:_[a-z0-9]+)+)"'):
    """Return the texts in the code of files that could be codes."""
    comments = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
    return {word for file in files for word in re.findall(pattern, comments.sub("", file.read_text(encoding="utf-8")))}


def test_sellers_refuse_with_the_same_codes_in_both_languages():
    typescript = words_of(*(ROOT / "npm/source/x402/server").glob("*.ts"))
    assert len(typescript) > 30
    python = words_of(*(ROOT / "bilateral/x402").rglob("*.py"))
    assert typescript - python - OWN_OF_SELLERS - {"invalid_payment"} == set()
    names = ("adapters", "asgi", "cors", "exchange", "gate", "payment_checks", "server", "wsgi")
    sellers = words_of(*(ROOT / "bilateral/x402/server" / f"{name}.py" for name in names))
    assert sellers - typescript - UNPORTED_OF_SELLERS - WORDS_OF_PYTHON == set()


def test_each_code_of_a_seller_has_a_line_in_the_pages():
    files = [ROOT / "npm/README.md", *(ROOT / "docs").glob("*.md")]
    pages = "".join(file.read_text(encoding="utf-8") for file in files)
    codes = words_of(*(ROOT / "npm/source/x402/server").glob("*.ts"))
    assert {code for code in codes if f"`{code}`" not in pages} == set()
