"""Validations of a server's work as of a block."""

from __future__ import annotations

from decimal import Decimal
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import bindparam, select

from bilateral.checks.as_of_block import VALIDATION, covering, evidence_of
from bilateral.checks.verdicts import Code
from bilateral.core.events import ValidationResponse
from bilateral.index.log import tables as schema
from bilateral.index.log.unindexed import newest_first
from bilateral.index.reading.prepared import Prepared, at_most, one_of, size_for, spread

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy import Connection

    from bilateral.checks.as_of_block import Moment
    from bilateral.checks.reasons import Reasons

_MOST_ANSWERS: Final = 1_000
"""The newest answers that are looked at: anybody may ask a validator for any number."""

_SHOWN: Final = 3  # examples are enough to follow a reason
_ANSWERS: Final = schema.EVENT_TABLES[ValidationResponse]


def judge_validations(
    connection: Connection, reasons: Reasons, moment: Moment, kinds: Mapping[str, str], agent_id: int
) -> dict[str, Any]:
    """Add the reasons about validations, and return the figures behind them.

    The last answer to each request counts. The newest thousand answers are read.

    Args:
        kinds: The registries of the agent's identity registry with their kinds.
    """
    policy = reasons.policy
    addresses = [address for address, kind in kinds.items() if kind == VALIDATION]
    validators = sorted(policy.validators)
    parameters = {**moment.bounds, "agent_id": agent_id, **spread("registry", addresses, len(addresses))}
    parameters |= spread("validator", validators, size_for(validators))
    statement = _newest_answers(len(addresses), size_for(validators) if validators else 0)
    last: dict[tuple[str, bytes], Any] = {}
    for row in statement.records(connection, parameters) if addresses else ():
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
    answering = len({row.validator_address for row in answers})
    return {"count": len(answers), "validators": answering, "mean": mean}


@lru_cache
def _newest_answers(registries: int, validators: int) -> Prepared:
    """Return the statement that reads the newest answers in some registries, by some validators; 0 for all."""
    answers = _ANSWERS.c
    names = ("registry", "block_number", "log_index", "transaction_hash", "request_hash", "response")
    query = (
        select(*(answers[name] for name in names), answers.validator_address)
        .where(covering(_ANSWERS), one_of("registry", answers.registry, registries))
        .where(answers.agent_id == bindparam("agent_id"))
        .order_by(*newest_first(answers))
        .limit(at_most(_MOST_ANSWERS))
    )
    if validators:
        query = query.where(one_of("validator", answers.validator_address, validators))
    return Prepared(query)
