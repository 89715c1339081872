"""Methods for feedback that needs a signature: authorised by the agent's owner, or sent on the client's behalf."""

from __future__ import annotations

from datetime import datetime

from bilateral.client.aio.runner import AsyncHandle, AsyncRunner
from bilateral.client.operations import authorized, feedback, registries
from bilateral.client.operations.authorized import AuthorizedFeedbackEntry, AuthorizedSummary, VoidedSignatures
from bilateral.client.results import FeedbackEntry
from bilateral.client.state import AgentLike, FeedbackAuthorization, SignedFeedback
from bilateral.core.values import FeedbackValue, HumanValue
from bilateral.core.values.arguments import checked_class
from bilateral.documents import FeedbackFile


@checked_class
class AsyncSignedMethods(AsyncRunner):
    """Methods for feedback that needs a signature: authorised by the agent's owner, or sent on the client's behalf."""

    async def authorize_feedback(  # noqa: PLR0913  # all but two have defaults
        self,
        agent_id: AgentLike,
        client_address: str,
        *,
        count: int = 1,
        last_index: int = 0,
        index_limit: int | None = None,
        expiry: datetime | None = None,
    ) -> FeedbackAuthorization:
        """As an agent's owner, sign an authorisation for a client to rate the agent (FeedbackAuth). Nothing is sent.

        Args:
            agent_id: The agent, which the signer must own.
            client_address: The account that may rate the agent.
            count: The number of additional feedback entries to allow.
            last_index: The number of feedback entries that the client has given the agent in this registry so far. The
                call fails if the node reports a different number, because a malicious node could otherwise raise the
                signed limit arbitrarily.
            index_limit: The signed limit itself (see `FeedbackAuth.index_limit`), in place of `count` and `last_index`.
            expiry: When the authorisation expires; by default, one day after the chain's current time.

        Returns:
            The authorisation. Pass its `encoded` form to the client.

        Raises:
            NotAgentOwnerError: The signer does not own the agent, so the registry would reject the authorisation.
            IndexMismatchError: The number that the node reports differs from `last_index`. Nothing was signed.
            InvalidArgumentError: The expiry has passed, a number is out of range, or the client is allowed to act for
                the agent, in which case the registry would reject the client's feedback.
            ContractRevertError: The agent does not exist (`erc721_nonexistent_token`).
        """
        return await self._run(
            authorized.authorize(self.state, agent_id, client_address, count, last_index, index_limit, expiry)
        )

    async def give_authorized_feedback(  # noqa: PLR0913  # the function's own arguments
        self,
        agent_id: AgentLike,
        score: int,
        feedback_auth: FeedbackAuthorization | bytes | str,
        *,
        tag1: str = "",
        tag2: str = "",
        file: FeedbackFile | None = None,
        file_uri: str = "",
        file_hash: bytes | str | None = None,
    ) -> AsyncHandle[AuthorizedFeedbackEntry]:
        """Rate an agent, with the authorisation of the agent's owner (FeedbackAuth, `giveFeedback`).

        Args:
            score: The score, from 0 to 100.
            feedback_auth: The authorisation, as a `FeedbackAuthorization`, bytes, or hexadecimal digits.
            tag1: The first tag, at most 32 bytes in UTF-8.
            tag2: The second tag, at most 32 bytes in UTF-8.
            file: A feedback file, which is completed and saved to the client's store.
            file_uri: The URI of an existing file, instead of `file`.

        Raises:
            InvalidArgumentError: An argument does not fit its Solidity type.
            ContractRevertError: The registry reverts with one of the errors in `AuthorizedReputationRegistry`:
                `score_too_high`, `feedback_auth_expired`, `index_limit_reached`, `signer_not_owner`, …
        """
        draft = feedback.Draft(score, tag1, tag2, file=file, link=(file_uri, file_hash))
        return await self._write(authorized.give(self.state, agent_id, score, feedback_auth, draft))

    async def get_authorized_summary(self, agent_id: AgentLike) -> AuthorizedSummary:
        """Average all authorised feedback for an agent (FeedbackAuth, `getSummary`)."""
        return await self._run(authorized.summarize(self.state, agent_id))

    async def get_authorized_feedback(
        self, agent_id: AgentLike, *, client_address: str | None = None, offset: int = 0, limit: int | None = None
    ) -> list[AuthorizedFeedbackEntry]:
        """Read authorised feedback, oldest first, page by page.

        Args:
            client_address: The client; all clients by default.
            offset: The number of entries to skip.
            limit: The maximum number of entries to read; all by default.

        Raises:
            InvalidArgumentError: A number is negative.
        """
        return await self._run(authorized.read(self.state, agent_id, client_address, offset, limit))

    async def sign_feedback(  # noqa: PLR0913, PLR0917  # as give_feedback
        self,
        agent_id: AgentLike,
        value: HumanValue | FeedbackValue,
        tag1: str = "",
        tag2: str = "",
        endpoint: str = "",
        feedback_file: FeedbackFile | None = None,
        *,
        feedback_uri: str = "",
        feedback_hash: bytes | str | None = None,
        deadline: datetime | None = None,
    ) -> SignedFeedback:
        """Sign feedback that another account will send and pay for (`giveFeedbackBySig`). No transaction is sent.

        The signature is valid only for the signer's next feedback for the agent. It becomes invalid if the signer gives
        the agent any other feedback first. `void_signatures` also invalidates it permanently.

        Args:
            value: See `give_feedback`.
            tag1: What is measured; may be empty.
            tag2: The qualifier of `tag1`, such as a period; may be empty.
            endpoint: The endpoint that was used; may be empty.
            feedback_file: See `give_feedback`.
            feedback_uri: See `give_feedback`.
            feedback_hash: See `give_feedback`.
            deadline: When the signature expires; by default, one day after the chain's current time.

        Raises:
            UnrepresentableValueError: The value has no exact representation, or is not meaningful for its tag.
            InvalidArgumentError: Both a file and a URI are passed, the hash is malformed, or the deadline has passed or
                has been invalidated.
            ContractRevertError: The registry would revert with `self_feedback` or `erc721_nonexistent_token`.
        """
        draft = feedback.Draft(value, tag1, tag2, endpoint, feedback_file, (feedback_uri, feedback_hash))
        return await self._run(authorized.sign(self.state, agent_id, draft, deadline))

    async def submit_signed_feedback(self, signed_feedback: SignedFeedback) -> AsyncHandle[FeedbackEntry]:
        """Send feedback that a client signed, and pay for it (`giveFeedbackBySig`).

        Args:
            signed_feedback: The result of `sign_feedback`.

        Raises:
            ContractRevertError: The registry reverts with `signature_expired`, `signature_voided`,
                `unexpected_feedback_index`, `invalid_signature`, `self_feedback` or `erc721_nonexistent_token`.
        """
        return await self._write(authorized.submit(self.state, signed_feedback))

    async def void_signatures(self, through: datetime) -> AsyncHandle[VoidedSignatures]:
        """Permanently invalidate the signer's signed feedback with deadlines up to `through` (`voidSignaturesThrough`).

        Args:
            through: The latest deadline to invalidate. New signatures need a later deadline.

        Raises:
            InvalidArgumentError: The deadline has no time zone.
            ContractRevertError: The registry reverts with `deadline_already_voided`.
        """
        return await self._write(authorized.void(self.state, through))

    async def get_voided_deadline(self, client_address: str | None = None) -> datetime | None:
        """Return the latest deadline that a client has invalidated (`getVoidedDeadline`).

        Args:
            client_address: The client; by default the signer.

        Returns:
            The deadline; None if the client has not invalidated anything. Deadlines after the year 9999 are returned as
            the last second of that year.

        Raises:
            MissingSignerError: No address was passed, and the client has no signer.
        """
        return await self._run(authorized.voided_deadline(self.state, client_address))

    async def is_valid_signature(
        self, account: str, digest: bytes, signature: bytes, *, verifier: str | None = None
    ) -> bool:
        """Check whether an account signed a digest, with its key or, if it is a contract, through ERC-1271.

        Args:
            digest: The 32 bytes that were signed, such as `FeedbackAuth.digest`.
            signature: The signature: 65 bytes if made with a key, or any bytes that the contract accepts.
            verifier: The contract assumed to verify the signature, such as a registry; by default the zero address.

        Raises:
            InvalidArgumentError: The digest is not 32 bytes long.
            NodeError: The node reports an error other than a revert, for example because a contract used up all the
                gas.
        """
        return await self._run(registries.is_valid_signature(self.state, account, digest, signature, verifier))
