# Generated from bilateral/client/aio by `make sync-client`. Change that, not this.
"""Methods for blind ratings: a client and a server rate each other before either can see the other's rating."""

from __future__ import annotations

from collections.abc import Sequence

from bilateral.client.blind_vault import BlindVault
from bilateral.client.operations import blind, feedback
from bilateral.client.operations.blind import BlindStatus, OpenedRatings, SealedRatings
from bilateral.client.state import TIMEOUT, AgentLike
from bilateral.client.sync.runner import Handle, Runner
from bilateral.core.signatures.blind_messages import FeedbackOpening, RatingOpening, SignedEnvelope
from bilateral.core.signatures.blind_ratings import MAX_CLIENT_LIFETIME, MAX_SERVER_LIFETIME, Pair
from bilateral.core.values import FeedbackValue, HumanValue
from bilateral.core.values.arguments import checked_class
from bilateral.documents import FeedbackFile


@checked_class
class BlindMethods(Runner):
    """Methods for blind ratings: a client and a server rate each other before either can see the other's rating."""

    def seal_rating(  # noqa: PLR0913  # a rating, its sides and its interaction
        self,
        vault: BlindVault,
        client_id: AgentLike,
        rating: int,
        *,
        client: str,
        interaction: bytes,
        lifetime: int = MAX_SERVER_LIFETIME,
    ) -> SignedEnvelope:
        """Seal and sign a rating of a client, as the signer's primary agent. No transaction is sent.

        The vault stores the seal's random salt before anything is signed. If you repeat the call after a crash, the
        same seal is signed again.

        Args:
            vault: The vault that stores the opening (the rating and its salt).
            rating: The rating, from 0 to 100.
            client: The client's account, from which the client gives feedback.
            interaction: The id of the interaction, 32 bytes; see
                `bilateral.core.signatures.blind_ratings.payment_interaction`.
            lifetime: Seconds until the envelope expires; at most 14 days.

        Returns: The server's signed envelope, to be passed to the client.

        Raises:
            InvalidArgumentError: An argument is out of range, or `client_id` is not the primary agent of `client`.
            AlreadySealedError: The vault already contains a different rating for this interaction.
        """
        sides = (client_id, client)
        return self._run(blind.seal_rating(self.state, vault, sides, rating, interaction, lifetime))

    def seal_feedback(  # noqa: PLR0913, PLR0917  # as give_feedback
        self,
        vault: BlindVault,
        offer: SignedEnvelope,
        value: HumanValue | FeedbackValue,
        tag1: str = "",
        tag2: str = "",
        endpoint: str = "",
        feedback_file: FeedbackFile | None = None,
        *,
        feedback_uri: str = "",
        feedback_hash: bytes | str | None = None,
        agent_id: AgentLike | None = None,
        lifetime: int = MAX_CLIENT_LIFETIME,
    ) -> SignedEnvelope:
        """Seal and sign feedback about a server, as the client to which that server made an offer. Nothing is sent.

        Args:
            vault: The vault, which stores the seal's random salt before anything is signed.
            offer: The server's envelope, which is verified first.
            value: See `give_feedback`.
            tag1: See `give_feedback`.
            tag2: See `give_feedback`.
            endpoint: See `give_feedback`.
            feedback_file: See `give_feedback`. The client's store must be a `DataUriStore`, because any other store
                would reveal the feedback before it is sealed.
            feedback_uri: See `give_feedback`.
            feedback_hash: See `give_feedback`.
            agent_id: The agent that you intend to rate. An offer from any other agent is rejected.
            lifetime: Seconds until the envelope expires; at most one hour.

        Returns:
            The client's signed envelope, to be passed to a relayer or to `seal_ratings`.

        Raises:
            InvalidArgumentError: The offer is invalid, expired or for another client, or an argument is out of range.
            UnrepresentableValueError: The value has no exact representation, or is not meaningful for its tag.
            AlreadySealedError: The vault already contains different feedback for this interaction.
            ContractRevertError: The registry would reject the feedback with `self_feedback` or
                `erc721_nonexistent_token`.
        """
        draft = feedback.Draft(value, tag1, tag2, endpoint, feedback_file, (feedback_uri, feedback_hash))
        return self._run(blind.seal_feedback(self.state, vault, offer, draft, agent_id, lifetime))

    def verify_envelope(self, envelope: SignedEnvelope) -> None:
        """Check an envelope's deadline and signature, and that each side's agent is its account's primary agent.

        Args:
            envelope: The envelope from either side.

        Raises:
            InvalidArgumentError: The envelope is invalid. The message identifies the field.
        """
        self._run(blind.verify(self.state, envelope))

    def seal_ratings(self, envelope: SignedEnvelope, other: SignedEnvelope) -> Handle[SealedRatings]:
        """Store both envelopes on chain (`seal`). Afterwards, the server can no longer rate the client openly.

        Args:
            envelope: The envelope from either side.
            other: The other side's envelope.

        Raises:
            EnvelopeMismatchError: The envelopes do not belong together.
            ContractRevertError: The registry reverts with `envelope_expired`, `unexpected_rater`, `unexpected_client`,
                `invalid_signature` or `already_rated`.
        """
        return self._write(blind.seal(self.state, envelope, other))

    def open_ratings(
        self,
        pair: Pair,
        openings: Sequence[FeedbackOpening | RatingOpening],
        *,
        confirmations: int = 1,
        timeout: float = TIMEOUT,
    ) -> Handle[OpenedRatings]:
        """Reveal one or both ratings of a sealed pair (`open`, `openFeedback`, `openRating`).

        Args:
            pair: The sealed pair.
            openings: The opening of one side, or of both. Until the client's feedback has been opened, the server's
                opening is rejected unless the client's opening is passed as well. This restriction ends 14 days after
                the client's deadline.
            confirmations: The number of blocks that must confirm the seal, including the block that contains it.
                Without confirmations, a reorganisation could remove the seal after the opening, and the server could
                then change its rating.
            timeout: How many seconds to wait for these blocks.

        Raises:
            SealMismatchError: An opening does not match the pair.
            SealUnsettledError: The seal did not get enough confirmations in time. Nothing was sent.
            InvalidArgumentError: No opening is passed, `confirmations` is 0 or less, or the client must open first.
            ContractRevertError: The registry reverts with `unknown_pair`, `already_rated` or `self_feedback`.
        """
        return self._write(blind.open_(self.state, pair, openings, confirmations, timeout))

    def exchange(
        self,
        envelopes: Sequence[SignedEnvelope],
        openings: Sequence[FeedbackOpening | RatingOpening],
        *,
        accept_public_mempool: bool = False,
    ) -> Handle[OpenedRatings]:
        """Seal and open both ratings in one transaction (`exchange`).

        Args:
            envelopes: The envelopes of both sides.
            openings: The openings of both sides.
            accept_public_mempool: True to send the transaction even if a public mempool may reveal both ratings early.

        Raises:
            InvalidArgumentError: The chain may have a public mempool, or an envelope or opening is missing.
            EnvelopeMismatchError: The envelopes do not belong together.
            SealMismatchError: An opening does not match its envelope.
            ContractRevertError: The registry reverts with an error listed for `seal_ratings` or `open_ratings`.
        """
        operation = blind.exchange(self.state, envelopes, openings, accept_public_mempool=accept_public_mempool)
        return self._write(operation)

    def get_blind_status(self, client_id: AgentLike, server_id: AgentLike) -> BlindStatus:
        """Return the state of a server's rating of a client: none, open, sealed or blind (`ratingStateOf`)."""
        return self._run(blind.status(self.state, client_id, server_id))
