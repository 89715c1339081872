"""Validation of an agent's work (ERC-8004)."""

from __future__ import annotations

from collections.abc import Sequence

from bilateral.client.aio.runner import AsyncHandle, AsyncRunner
from bilateral.client.inputs import AgentLike
from bilateral.client.operations import validation
from bilateral.client.operations.validation import (
    ValidationAnswered,
    ValidationRequested,
    ValidationStatus,
    ValidationSummary,
)
from bilateral.core.values.arguments import checked_class


@checked_class
class AsyncValidationMethods(AsyncRunner):
    """Validation of an agent's work (ERC-8004)."""

    async def request_validation(
        self,
        agent_id: AgentLike,
        validator_address: str,
        request_uri: str = "",
        request_hash: bytes | str | None = None,
        *,
        document: bytes | None = None,
    ) -> AsyncHandle[ValidationRequested]:
        """Ask a validator to validate an agent's work (ERC-8004, `validationRequest`).

        Args:
            agent_id: The agent; the signer owns it or may act for it.
            validator_address: The validator, who alone may answer.
            request_uri: The URI of the validator's material.
            request_hash: The keccak-256 hash of that material. It names the request from now on.
            document: The validator's material, to be put into the client's store; instead of URI and hash.

        Raises:
            InvalidArgumentError: Neither a document nor a hash is given, or both are.
            ContractRevertError: The registry refuses: `bad_validator`, `request_exists`, `not_authorized`,
                `erc721_nonexistent_token`.
        """
        return await self._write(
            validation.request(self.state, agent_id, validator_address, (request_uri, request_hash), document)
        )

    async def respond_to_validation(
        self,
        request_hash: bytes | str,
        response: int,
        response_uri: str = "",
        response_hash: bytes | str | None = None,
        tag: str = "",
    ) -> AsyncHandle[ValidationAnswered]:
        """Answer a request as the validator that it names (ERC-8004, `validationResponse`). The last answer counts.

        Args:
            response: 0 for failed, 100 for passed, or anything between.
            response_uri: The URI of the evidence; may be empty.
            response_hash: The hash of the evidence; None if there is none.
            tag: A category of the validator's own; may be empty.

        Raises:
            InvalidArgumentError: The response does not fit a uint8, or a hash is malformed.
            ContractRevertError: The registry refuses: `unknown_request`, `not_validator`, `response_too_high`.
        """
        return await self._write(
            validation.respond(self.state, request_hash, response, (response_uri, response_hash), tag)
        )

    async def get_validation_status(self, request_hash: bytes | str) -> ValidationStatus:
        """Read a request and its last answer (ERC-8004, `getValidationStatus`).

        Raises:
            ContractRevertError: There is none: `unknown_request`.
        """
        return await self._run(validation.status(self.state, request_hash))

    async def get_validation_summary(
        self, agent_id: AgentLike, *, validators: Sequence[str] = (), tag: str = ""
    ) -> ValidationSummary:
        """Average an agent's last answers (ERC-8004, `getSummary`).

        It is one call, which a node may refuse if those who may act for the agent have made very many requests.

        Args:
            validators: Whose answers count; everybody's when left out, the agent's own side included.
            tag: The tag that counts; empty: any.
        """
        return await self._run(validation.summarize(self.state, agent_id, validators, tag))

    async def get_agent_validations(self, agent_id: AgentLike) -> list[bytes]:
        """Return the hashes of all requests for an agent, oldest first (ERC-8004, `getAgentValidations`)."""
        return await self._run(validation.of_agent(self.state, agent_id))

    async def get_validator_requests(self, validator_address: str) -> list[bytes]:
        """Return the hashes of all requests that name a validator, oldest first (ERC-8004, `getValidatorRequests`)."""
        return await self._run(validation.of_validator(self.state, validator_address))
