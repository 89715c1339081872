"""The states of pairs of agents in plain Python: the rules of open and blind ratings, without any hash."""

from __future__ import annotations

from dataclasses import dataclass, field

FREE, OPEN, SEALED, BLIND = range(4)


class RefusedError(Exception):
    """A call that the registry must refuse.

    Attributes:
        error: The name of its error.
    """

    def __init__(self, error):
        super().__init__(error)
        self.error = error


@dataclass(frozen=True, eq=False)
class Terms:
    """The terms of an interaction, which both sides sealed without the other's knowledge.

    Attributes:
        client: The account of the client.
        server: The account of the server.
        pair: The ids of both agents, as the envelopes say.
        feedback: The value of the client's feedback.
        rating: The server's rating.
        is_late: True if an envelope has expired.
    """

    client: object
    server: object
    pair: tuple
    feedback: int
    rating: int
    is_late: bool


@dataclass
class Model:
    """The storage that the registry must have.

    Attributes:
        agents: The agent as which each account speaks.
        ratings: The state and the rating of each `(client, server)`.
        sealed: The terms that are stored for each `(client, server)`, and True if their feedback is open.
        feedback: The values of the feedback of each `(client account, server)`, in its order.
    """

    agents: dict
    ratings: dict = field(default_factory=dict)
    sealed: dict = field(default_factory=dict)
    feedback: dict = field(default_factory=dict)

    def rate(self, account, client_id, rating):
        server_id = self.agents[account]
        self._require(rating <= 100, "RatingTooHigh")
        self._require(client_id != server_id, "CannotRateSelf")
        self._require((client_id, server_id) not in self.ratings, "AlreadyRated")
        self.ratings[client_id, server_id] = OPEN, rating

    def give(self, account, server_id, value):
        self._require(self.agents[account] != server_id, "Self-feedback not allowed")
        self._append(account, server_id, value)

    def seal(self, deal, forged):
        self._require_envelopes(deal, forged)
        self._require(deal.pair not in self.ratings, "AlreadyRated")
        self.ratings[deal.pair] = SEALED, 0
        self.sealed[deal.pair] = deal, False

    def exchange(self, deal, forged, openings):
        self._require_envelopes(deal, forged)
        self._require_fits(deal.feedback, openings[0])
        self._require_fits(deal.rating, openings[1])
        self._require(deal.pair not in self.ratings, "AlreadyRated")
        self._write(deal)

    def open(self, deal, openings):
        self._require(self.sealed.get(deal.pair) == (deal, False), "UnknownPair")
        self._require_fits(deal.feedback, openings[0])
        self._require_fits(deal.rating, openings[1])
        self._require(self.ratings[deal.pair][0] == SEALED, "AlreadyRated")
        del self.sealed[deal.pair]
        self._write(deal)

    def open_feedback(self, deal, openings):
        self._require(self.sealed.get(deal.pair) == (deal, False), "UnknownPair")
        self._require_fits(deal.feedback, openings[0])
        self.sealed[deal.pair] = deal, True
        self._append(deal.client, deal.pair[1], deal.feedback)

    def open_rating(self, deal, openings):
        self._require(self.sealed.get(deal.pair, (None,))[0] == deal, "UnknownPair")
        self._require_fits(deal.rating, openings[1])
        self._require(self.ratings[deal.pair][0] == SEALED, "AlreadyRated")
        self.ratings[deal.pair] = BLIND, deal.rating

    def _require_envelopes(self, deal, forged):
        client_id, server_id = deal.pair
        self._require(not deal.is_late, "EnvelopeExpired")
        self._require(self.agents[deal.server] == server_id, "UnexpectedRater")
        self._require(self.agents[deal.client] == client_id, "UnexpectedClient")
        self._require(client_id != server_id, "CannotRateSelf")
        self._require(not forged, "InvalidSignature")

    def _write(self, deal):
        self.ratings[deal.pair] = BLIND, deal.rating
        self._append(deal.client, deal.pair[1], deal.feedback)

    def _append(self, account, server_id, value):
        self.feedback.setdefault((account, server_id), []).append(value)

    @classmethod
    def _require_fits(cls, sealed, opening):
        cls._require(sealed == opening, "SealMismatch")

    @staticmethod
    def _require(condition, error):
        if not condition:
            raise RefusedError(error)
