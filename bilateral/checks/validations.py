"""Validations of a server's work as of a block."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import select

from bilateral.checks.moments import VALIDATION, evidence_of
from bilateral.checks.verdicts import Code
from bilateral.events import ValidationResponse
from bilateral.index import schema
from bilateral.index.queries.unindexed import newest_first

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy import Connection

    from bilateral.checks.moments import Moment
    from bilateral.checks.reasons import Reasons

_MOST_ANSWERS: Final = 1_000
_SHOWN: Final = 3
_ANSWERS: Final = schema.EVENT_TABLES[ValidationResponse]


def judge_validations(
    connection: Connection, reasons: Reasons, moment: Moment, kinds: Mapping[str, str], agent_id: int
) -> dict[str, Any]:
    """Add the reasons about validations, and return the figures behind them.

    The last answer to each request counts. The newest thousand answers are read.

    Args:
        connection: The connection.
        reasons: The reasons.
        moment: The moment.
        kinds: The registries of the agent's identity registry with their kinds.
        agent_id: The agent.
    """
    policy = reasons.policy
    addresses = [address for address, kind in kinds.items() if kind == VALIDATION]
    query = (
        select(_ANSWERS)
        .where(moment.covers(_ANSWERS), _ANSWERS.c.registry.in_(addresses), _ANSWERS.c.agent_id == agent_id)
        .order_by(*newest_first(_ANSWERS.c))
        .limit(_MOST_ANSWERS)
    )
    if policy.validators:
        query = query.where(_ANSWERS.c.validator_address.in_(policy.validators))
    last: dict[tuple[str, bytes], Any] = {}
    for row in connection.execute(query):
        last.setdefault((row.registry, bytes(row.request_hash)), row)
    answers = list(last.values())
    mean = None if not answers else Decimal(sum(row.response for row in answers) * 100 // len(answers)) / 100
    evidence = [evidence_of("ValidationResponse", row) for row in answers[:_SHOWN]]
    if len(answers) < policy.minimum_validations:
        reasons.add(
            Code.TOO_FEW_VALIDATIONS,
            f"{len(answers)} validations count; the policy asks for {policy.minimum_validations}.",
            *evidence,
        )
    if mean is not None and (policy.validators or policy.minimum_validations) and mean < policy.minimum_validation:
        reasons.add(
            Code.LOW_VALIDATION,
            f"Validators answered {mean} of 100 on average; the policy asks for {policy.minimum_validation}.",
            *evidence,
        )
    validators = len({row.validator_address for row in answers})
    return {"count": len(answers), "validators": validators, "mean": mean}
