"""Fields of each result that people see, by label. `--json` has all of them, see `bilateral.cli.shapes`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from bilateral import client as results
from bilateral.cli.tags import marked_tag


def view_of(value: Any) -> Any:
    """Return what people see of a result."""
    view = _VIEWS.get(type(value))
    if view is not None:
        return {name: view_of(inner) for name, inner in view(value).items()}
    if isinstance(value, Mapping):
        return {name: view_of(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [view_of(inner) for inner in value]
    return value


def _agent(agent: results.Agent) -> dict[str, Any]:
    file = agent.file
    return {
        "agent": agent.id,
        "name": agent.name,
        "description": agent.description,
        "image": agent.image,
        "services": [f"{service.name}  {service.endpoint}" for service in file.all_services] if file else None,
        "active": file.active if file else None,
        "x402": file.x402_support if file else None,
        "trust models": file.supported_trust if file else None,
        "owner": agent.owner,
        "wallet": agent.wallet or "none",
        "domain": agent.domain,
        "uri": agent.uri,
        "file names it": agent.is_confirmed if file else None,
        "file problem": agent.file_problem,
        "global id": agent.global_id,
    }


def _rater(rater: results.Rater) -> dict[str, Any]:
    return {"address": rater.address, **(_agent(rater.agent) if rater.agent else {"agent": "none"})}


def _feedback(entry: results.FeedbackEntry) -> dict[str, Any]:
    event = entry.event
    return {
        "feedback": entry.id,
        "value": entry.value,
        "tags": list(map(marked_tag, entry.tags)),
        "text": entry.text,
        "revoked": entry.is_revoked or None,
        "given at": event.given_at if event else None,
        "endpoint": event.endpoint if event else None,
        "file": event.uri if event else None,
        "file hash": event.hash if event else None,
        "file problem": entry.file_problem,
        "block": event.block if event else None,
        "transaction": event.transaction if event else None,
    }


def _answer(response: results.FeedbackResponse) -> dict[str, Any]:
    return {"responder": response.responder, "file": response.uri, "file hash": response.hash}


def _summary(summary: results.ReputationSummary) -> dict[str, Any]:
    return {
        "agent": summary.agent,
        "average": "none" if summary.average is None else summary.average,
        "feedback": summary.count,
        "tag1": summary.tag1,
        "tag2": summary.tag2,
        "reviewers": f"all {len(summary.reviewers)}" if summary.is_everybody else summary.reviewers,
    }


def _rating(rating: results.Rating) -> dict[str, Any]:
    return {"subject": rating.subject, "as": rating.kind, "by": rating.server, "rating": rating.rating}


def _authorized(entry: results.AuthorizedFeedbackEntry) -> dict[str, Any]:
    return {
        "agent": entry.agent,
        "client": entry.client,
        "score": entry.score,
        "tags": [marked_tag(tag) for tag in (entry.tag1, entry.tag2) if tag],
        "position": entry.position,
        "given at": entry.given_at,
        "file": entry.uri,
        "file hash": entry.hash,
    }


def _average(summary: results.AuthorizedSummary) -> dict[str, Any]:
    average = "none" if summary.average is None else summary.average
    return {"agent": summary.agent, "average": average, "feedback": summary.count}


def _request(status: results.ValidationStatus) -> dict[str, Any]:
    answered = status.is_surely_answered
    return {
        "request": status.request_hash,
        "agent": status.agent,
        "validator": status.validator,
        "answer": status.response if answered else "none, or 0 without hash and tag",
        "tag": marked_tag(status.tag),
        "file hash": status.response_hash,
        "last update": status.last_update,
    }


def _answers(summary: results.ValidationSummary) -> dict[str, Any]:
    return {
        "agent": summary.agent,
        "average": "none" if summary.average is None else summary.average,
        "answers": summary.count,
        "tag": summary.tag,
        "validators": summary.validators or "all",
    }


_VIEWS: Final[dict[type[Any], Callable[[Any], dict[str, Any]]]] = {
    results.Agent: _agent,
    results.Rater: _rater,
    results.FeedbackEntry: _feedback,
    results.FeedbackResponse: _answer,
    results.ReputationSummary: _summary,
    results.Rating: _rating,
    results.AuthorizedFeedbackEntry: _authorized,
    results.AuthorizedSummary: _average,
    results.ValidationStatus: _request,
    results.ValidationSummary: _answers,
}
"""Views of the results with more than people need. The other results have few fields, and all of them are shown."""
