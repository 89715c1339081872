"""A client and a server that agree on blind ratings: secrets, envelopes, signatures and the calls that send them."""

from __future__ import annotations

from dataclasses import astuple, dataclass, fields, replace
from typing import Any

import ape
import pytest
from eth_utils import keccak

from bilateral.core.signatures import Domain
from bilateral.core.signatures.blind_ratings import BlindFeedback, Pair, SealedFeedback, SealedRating, rating_seal

FEEDBACK = BlindFeedback(
    9977, 2, "uptime", "week", "https://agent.example", "ipfs://QmFeedback", keccak(text="the feedback file")
)
INTERACTION, CLIENT_SALT, SERVER_SALT = (keccak(text=text) for text in ("interaction", "client", "server"))


@dataclass(frozen=True)
class Deal:
    """One interaction. The fields of the pair are changed with `but`, and both sides sign what it says.

    Attributes:
        registry: The registry.
        pair: The pair as Solidity takes it, a list that tests may spoil.
        signers: The keys of the client and of the server.
        feedback: The client's feedback.
        client_salt: The salt of its seal.
        rating: The server's rating.
        server_salt: The salt of its seal.
    """

    registry: Any
    pair: tuple[Any, ...]
    signers: tuple[Any, Any]
    feedback: BlindFeedback = FEEDBACK
    client_salt: bytes = CLIENT_SALT
    rating: int = 20
    server_salt: bytes = SERVER_SALT

    def but(self, **changes):
        """Return this deal with other fields of the pair."""
        names = [field.name for field in fields(Pair)]
        pair = [changes.pop(name, value) for name, value in zip(names, self.pair, strict=True)]
        assert not changes
        return replace(self, pair=tuple(pair))

    @property
    def hash(self):
        return Pair(*self.pair).hash

    @property
    def ids(self):
        return self.pair[1], self.pair[3]

    @property
    def sides(self):
        return {"clientId": self.pair[1], "serverId": self.pair[3], "interaction": self.pair[0]}

    @property
    def signatures(self):
        return self.sign(SealedFeedback, *self.pair[5:7]), self.sign(SealedRating, *self.pair[7:9])

    def sign(self, kind, seal, deadline, domain=None, signer=None):
        """Sign an envelope, also one that Python refuses, as its side or as another signer."""
        envelope = object.__new__(kind)
        values = (*self.pair[1:5], self.pair[0], seal, deadline)
        for field, value in zip(fields(kind), values, strict=True):
            object.__setattr__(envelope, field.name, value)
        signer = signer or self.signers[kind is SealedRating]
        return signer.sign_message(envelope.signable(domain or self.domain)).encode_rsv()

    @property
    def domain(self):
        return Domain(ape.chain.chain_id, self.registry.address)

    @property
    def client_opening(self):
        return astuple(self.feedback), self.client_salt

    @property
    def server_opening(self):
        return self.rating, self.server_salt

    def seal(self, sender, signatures=None):
        return self.registry.seal(self.pair, *(signatures or self.signatures), sender=sender)

    def open(self, sender):
        return self.registry.open(self.pair, *self.client_opening, *self.server_opening, sender=sender)

    def open_feedback(self, sender):
        return self.registry.openFeedback(self.pair, *self.client_opening, sender=sender)

    def open_rating(self, sender):
        return self.registry.openRating(self.pair, *self.server_opening, sender=sender)

    def exchange(self, sender, signatures=None):
        openings = (*self.client_opening, *self.server_opening)
        return self.registry.exchange(self.pair, *(signatures or self.signatures), *openings, sender=sender)

    def feedback_event(self, index=1):
        value, decimals, tag1, tag2, endpoint, uri, file_hash = astuple(self.feedback)
        return "NewFeedback", {
            "agentId": self.ids[1],
            "clientAddress": self.pair[2],
            "feedbackIndex": index,
            "value": value,
            "valueDecimals": decimals,
            "indexedTag1": keccak(text=tag1),
            "tag1": tag1,
            "tag2": tag2,
            "endpoint": endpoint,
            "feedbackURI": uri,
            "feedbackHash": file_hash,
        }

    def rating_event(self):
        client_id, server_id = self.ids
        return "ClientRated", {"clientId": client_id, "serverId": server_id, "rating": self.rating}

    def opened_event(self, index):
        return "RatingsOpened", {**self.sides, "client": self.pair[2], "feedbackIndex": index}

    def is_open(self, index=1):
        """Tell whether both sides' ratings are open, with the sealed values."""
        value, decimals, tag1, tag2, *_ = astuple(self.feedback)
        feedback = tuple(self.registry.readFeedback(self.ids[1], self.pair[2], index))
        return (
            feedback == (value, decimals, tag1, tag2, False)
            and tuple(self.registry.getClientRating(*self.ids)) == (True, self.rating)
            and self.registry.ratingStateOf(*self.ids) == 3
        )

    def is_untouched(self):
        """Tell whether nothing is stored of the deal."""
        return (
            self.registry.ratingStateOf(*self.ids) == 0
            and tuple(self.registry.getSealedPair(*self.ids)) == (0, False)
            and tuple(self.registry.getClientRating(*self.ids)) == (False, 0)
            and self.registry.getLastIndex(self.ids[1], self.pair[2]) == 0
        )


@pytest.fixture
def relayer(stranger):
    """The account that sends what both sides signed."""
    return stranger


@pytest.fixture
def deadline(chain):
    """An hour from now."""
    return chain.pending_timestamp + 3_600


@pytest.fixture
def make_deal(registry, deadline):
    """A function that makes a deal of two accounts with agents."""

    def make_deal(client, client_id, server, server_id, signers=None, **secrets):
        sides = (INTERACTION, client_id, str(client), server_id, str(server))
        deal = Deal(registry, (), signers or (client, server), **secrets)
        feedback_seal = deal.feedback.seal(deal.client_salt, str(client), server_id)
        if deal.rating <= 100:
            seal = rating_seal(deal.rating, deal.server_salt, client_id, server_id)
        else:
            words = (int(word).to_bytes(32) for word in (deal.rating, client_id, server_id))
            seal = keccak(deal.server_salt + b"".join(words))
        return replace(deal, pair=(*sides, feedback_seal, deadline, seal, deadline))

    return make_deal


@pytest.fixture
def deal(make_deal, client, client_id, server, server_id):
    """The deal under test: the server seals 20, the client 99.77 % of uptime."""
    return make_deal(client, client_id, server, server_id)


@pytest.fixture
def sealed(deal, relayer):
    """The deal after `seal`."""
    deal.seal(relayer)
    return deal


@pytest.fixture
def other_server_id(register, other_owner, validator_id):
    return register(other_owner)
