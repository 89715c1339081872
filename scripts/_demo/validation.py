"""Chapter: the server has its work validated; the last answer counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eth_utils.crypto import keccak

if TYPE_CHECKING:
    from ape.contracts import ContractInstance

    from scripts._demo.stage import Stage

WORK = "https://server.example/work/1.json"
REQUEST_HASH = keccak(text="the work of the server, and a number that nobody can guess: 7f3a9d5c")
FIRST_REPORT, FINAL_REPORT = "https://veritas.example/1.json", "https://veritas.example/2.json"
NO_ANSWER_YET = (0, 0)


def play(stage: Stage) -> None:
    """Request a validation, and answer it twice.

    Args:
        stage: The stage.
    """
    stage.chapter("Validation")
    registry = stage.registry("ValidationRegistry")
    server, validator, agent_id = stage.account("server"), stage.account("validator"), stage.agents["server"]

    with stage.step("The server asks the validator to validate its work.") as step:
        registry.validationRequest(validator, agent_id, WORK, REQUEST_HASH, sender=server)
        step.check("validator", registry.getValidationStatus(REQUEST_HASH).validatorAddress, validator)
        step.check("summary (answers, average)", tuple(registry.getSummary(agent_id, [], "")), NO_ANSWER_YET)
    with stage.refused("not validator", "The server wants to answer itself."):
        registry.validationResponse(REQUEST_HASH, 100, "", b"\0" * 32, "audit", sender=server)
    _answer(stage, registry, 60, FIRST_REPORT, "The validator answers after a first look.")
    _answer(stage, registry, 92, FINAL_REPORT, "It answers again after a second look; the last answer counts.")


def _answer(stage: Stage, registry: ContractInstance, response: int, report: str, text: str) -> None:
    with stage.step(text) as step:
        validator = stage.account("validator")
        registry.validationResponse(REQUEST_HASH, response, report, keccak(text=report), "audit", sender=validator)
        status = registry.getValidationStatus(REQUEST_HASH)
        step.check("response", status.response, response)
        step.check("tag", status.tag, "audit")
        summary = tuple(registry.getSummary(stage.agents["server"], [], ""))
        step.check("summary (answers, average)", summary, (1, response))
