"""The fields of SDK results that tables show."""

from collections.abc import Mapping
from typing import Any, Final

from bilateral import client as results
from bilateral.cli.columns import Reader, columns, marked_tag, tag_at


def view_of(value: Any) -> Any:
    """Return the fields of a result that tables show."""
    if (view := _VIEWS.get(type(value))) is not None:
        return {label: view_of(read(value)) for label, read in view.items()}
    if isinstance(value, results.Rater):
        agent = {"agent": "none"} if value.agent is None else view_of(value.agent)
        return {"address": value.address, **agent}
    if isinstance(value, Mapping):
        return {name: view_of(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [view_of(inner) for inner in value]
    return value


def _average(summary: Any) -> Any:
    return "none" if summary.average is None else summary.average


def _services(agent: results.Agent) -> list[str] | None:
    if agent.file is None:
        return None
    return [f"{service.name}  {service.endpoint}" for service in agent.file.all_services]


def _reviewers(summary: results.ReputationSummary) -> Any:
    return f"all {len(summary.reviewers)}" if summary.is_everybody else summary.reviewers


def _answer(status: results.ValidationStatus) -> Any:
    return status.response if status.is_surely_answered else "none, or 0 without hash and tag"


_VIEWS: Final[dict[type[Any], Mapping[str, Reader]]] = {
    results.Agent: columns(
        agent="id",
        name="name",
        description="description",
        image="image",
        services=_services,
        active="file.active",
        x402="file.x402_support",
        trust_models="file.supported_trust",
        owner="owner",
        wallet=lambda agent: agent.wallet or "none",
        domain="domain",
        uri="uri",
        file_names_it=lambda agent: agent.is_confirmed if agent.file else None,
        file_problem="file_problem",
        global_id="global_id",
    ),
    results.FeedbackEntry: columns(
        feedback="id",
        value="value",
        tags=lambda entry: list(map(marked_tag, entry.tags)),
        text="text",
        revoked=lambda entry: entry.is_revoked or None,
        given_at="event.given_at",
        endpoint="event.endpoint",
        file="event.uri",
        file_hash="event.hash",
        file_problem="file_problem",
        block="event.block",
        transaction="event.transaction",
    ),
    results.FeedbackResponse: columns("responder", file="uri", file_hash="hash"),
    results.ReputationSummary: columns(
        "agent", average=_average, feedback="count", tag1="tag1", tag2="tag2", reviewers=_reviewers
    ),
    results.Rating: columns("subject", **{"as": "kind"}, by="server", rating="rating"),
    results.AuthorizedFeedbackEntry: columns(
        *("agent", "client", "score"),
        tags=lambda entry: [marked_tag(tag) for tag in (entry.tag1, entry.tag2) if tag],
        position="position",
        given_at="given_at",
        file="uri",
        file_hash="hash",
    ),
    results.AuthorizedSummary: columns("agent", average=_average, feedback="count"),
    results.ValidationStatus: columns(
        request="request_hash",
        agent="agent",
        validator="validator",
        answer=_answer,
        tag=tag_at("tag"),
        file_hash="response_hash",
        last_update="last_update",
    ),
    results.ValidationSummary: columns(
        "agent", average=_average, answers="count", tag="tag", validators=lambda summary: summary.validators or "all"
    ),
}
"""The fields to show for results that have more fields than users need. Other results are shown completely."""
