"""Explanations for people: a finding, an account or an agent in plain sentences."""

from decimal import Decimal
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from bilateral.core.errors import InvalidArgumentError
from bilateral.core.text import quoted
from bilateral.trust.results import Results
from bilateral.trust.scores.suspicion import GUILTY, RANKING


def explain(results: Results, identifier: str) -> dict[str, Any]:
    """Explain a finding by its id, an account by its address, or an agent by its number."""
    return {name: _readable(value) for name, value in _facts(results, identifier).items()}


_UNLISTED = (
    "No list of trusted accounts was used, so Sybils that no detector finds can distort the result. Specify accounts "
    "that you trust with --trust."
)
_LISTED = "Trust was propagated from a list of accounts, as best practice recommends. The score does not use it."

_VISIBLE: Final = 0.05
"""The smallest part of a suspicion that is displayed. Smaller parts would be rounded to 0.0."""

_ONLY_RANK: Final = frozenset(name.replace(" ", "_") for name in RANKING)
_RANKED = (
    "Weak signs, praise from flagged accounts and ties created by others only affect an account's rank. They never "
    "flag it, because others may have caused them."
)


def _readable(value: Any) -> Any:
    """Return a value with floats rounded to four significant digits, for people and JSON."""
    if isinstance(value, float):
        return Decimal(f"{value:.4g}")
    if isinstance(value, dict):
        return {name: _readable(inner) for name, inner in value.items()}
    return value


def _facts(results: Results, identifier: str) -> dict[str, Any]:
    if identifier.isascii() and identifier.isdigit():
        return _agent(results, int(identifier))
    matches = results.findings.filter(pc.equal(results.findings["finding"], identifier))
    if matches.num_rows:
        return _finding(results, matches.to_pylist()[0])
    lowered = pc.utf8_lower(pc.cast(results.addresses["address"], pa.string()))
    account = results.addresses.filter(pc.equal(lowered, identifier.lower()))
    if account.num_rows:
        return _account(results, account.to_pylist()[0])
    if _case(results, identifier):
        raise InvalidArgumentError(f"{quoted(identifier)} was reviewed but appears in no table: check its address")
    raise InvalidArgumentError(f"{quoted(identifier)} is not a finding, address or agent in these results")


def _finding(results: Results, finding: dict[str, Any]) -> dict[str, Any]:
    rows = results.rows.filter(pc.equal(results.rows["finding"], finding["finding"])).to_pylist()
    members = len(finding["actors"])
    return {
        "finding": finding["finding"],
        "detector": finding["detector"],
        "summary": [
            finding["sentence"],
            f"Measured: {finding['statistic']}.",
            f"The false discovery rate is at most {finding['q_value']:.2g}.",
            f"Actors: {members}. Accounts that benefit: {len(finding['beneficiaries'])}.",
            "The accounts that the rows are about are not blamed.",
        ],
        "actors": finding["actors"],
        "beneficiaries": finding["beneficiaries"],
        "subjects": finding["subjects"],
        "rows": [{"table": row["table"], "row": row["row"]} for row in rows],
    }


def _account(results: Results, account: dict[str, Any]) -> dict[str, Any]:
    address = account["address"]
    own_columns = {"address", "suspicion", "cluster", "threshold_flag"}
    parts = {name: value for name, value in account.items() if name not in own_columns and value >= _VISIBLE}
    trust = dict(zip(results.trust["address"].to_pylist(), results.trust["trust"].to_pylist(), strict=True))
    findings = [
        finding
        for finding in results.findings.to_pylist()
        if address in finding["actors"] or address in finding["beneficiaries"]
    ]
    flagged = "is flagged" if account["threshold_flag"] else "is not flagged"
    summary = [f"The account {flagged}, with a suspicion score of {account['suspicion']:.1f}."]
    case = _case(results, address)
    verdict = _verdict(account["suspicion"], case, has_parts=bool(parts))
    if verdict:
        summary.append(f"Reviewers found it {verdict}, which overrides its findings.")
    if case:
        summary.append(f"The reviewers' reason: {quoted(case['reason'])}.")
    if parts:
        listed = ", ".join(f"{name.replace('_', ' ')} {value:.1f}" for name, value in sorted(parts.items()))
        parts_of = "its suspicion" if account["threshold_flag"] else "its rank"
        summary.append(f"Components of {'its suspicion without the review' if verdict else parts_of}: {listed}.")
    if _ONLY_RANK & parts.keys():
        summary.append(_RANKED)
    signs = results.signs.filter(pc.equal(pc.cast(results.signs["address"], pa.string()), address)).to_pylist()
    if signs and not verdict:
        listed = ", ".join(f"{row['sign']} {row['weight']:.1f}" for row in signs)
        summary.append(f"The signs that affected its rank most, in log-odds: {listed}.")
    for side, scored in (("client", results.clients), ("buyer", results.buyers)):
        own = scored.filter(pc.equal(pc.cast(scored["address"], pa.string()), address)).to_pylist()
        summary += [_scored(side, row) for row in own]
    if not trust:
        summary.append(_UNLISTED)
    elif address in trust:
        summary.append(f"It receives {trust[address]:.2%} of all trust from the list of trusted accounts.")
    else:
        summary.append("It receives no trust from the list of trusted accounts.")
    summary += [f"{finding['sentence']} ({finding['finding']})" for finding in findings[:10]]
    if account["threshold_flag"] and not verdict:
        summary.append("To appeal, add the account to a file of reviews, with the verdict and the reason.")
    return {
        "address": address,
        "suspicion": account["suspicion"],
        "flagged": account["threshold_flag"],
        "cluster": account["cluster"],
        "parts": parts,
        "review": case,
        "signs": {row["sign"]: row["weight"] for row in signs},
        "summary": summary,
        "findings": [finding["finding"] for finding in findings],
    }


def _case(results: Results, address: str) -> dict[str, str] | None:
    """Return the reviewers' verdict on an account and their reason; None if the results contain no case about it."""
    cases = results.cases.filter(pc.equal(results.cases["account"], address.lower())).to_pylist()
    return {"verdict": cases[0]["verdict"], "reason": cases[0]["reason"]} if cases else None


def _verdict(suspicion: float, case: dict[str, str] | None, *, has_parts: bool) -> str | None:
    """Return the reviewers' verdict on an account; None if there is none."""
    # An index stores no cases, but an acquittal is visible: the suspicion is 0, whatever its parts are.
    if case:
        return case["verdict"]
    if suspicion == GUILTY:
        return "guilty"
    return "innocent" if has_parts and suspicion == 0 else None


def _scored(side: str, row: dict[str, Any]) -> str:
    if row["abstain"]:
        return f"As a {side}: {row['status']}, too little evidence for a score."
    return (
        f"As a {side}: {row['status']}, score {row['score']:.0f} of 100, lower bound {row['lower']:.0f}, by "
        f"{row['raters']} raters."
    )


def _agent(results: Results, agent_id: int) -> dict[str, Any]:
    agents = results.agents.filter(pc.equal(results.agents["agent_id"], agent_id)).to_pylist()
    if not agents:
        raise InvalidArgumentError(f"agent {agent_id} is not in these results")
    agent = agents[0]
    if agent["abstain"]:
        verdict = f"There is too little evidence for a score: {agent['effective']:.1f} independent opinions."
    else:
        verdict = (
            f"The score is {agent['score']:.0f} of 100, with a 90 % interval from {agent['low']:.0f} to "
            f"{agent['high']:.0f}."
        )
    return {
        **agent,
        "summary": [
            f"Agent {agent_id}: {agent['status']}.",
            verdict,
            f"The lower bound is {agent['lower']:.0f}. Act on the lower bound when money moves.",
            f"{agent['raters']} accounts judged it. {agent['removed']:.0%} of their opinions do not count.",
            _LISTED if results.trust.num_rows else _UNLISTED,
        ],
    }
