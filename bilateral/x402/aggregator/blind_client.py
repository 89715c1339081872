"""Blind ratings through a relay: each side sends its sealed rating (envelope) and the opening that reveals it.

Example:
    url = "https://feedback.example/v1/aggregator/blind-ratings"
    pair = relay_blind_rating(signed, opening, "eip155:8453", relay=url)
"""

import json
from typing import Any, Final

import httpx

from bilateral.core.identifiers import ChainId
from bilateral.core.signatures.blind_messages import Opening, SignedEnvelope, require_fit
from bilateral.core.text import printable
from bilateral.x402.aggregator.client import post, post_async, word_among
from bilateral.x402.aggregator.messages import RelayedPair

_STATES: Final = frozenset({"waiting", "queued", "sealed", "opened", "failed"})
_SIDES: Final = frozenset({"client", "server"})
_LONGEST_PROBLEM: Final = 1_000  # the maximum length of an aggregator's message in an error


def relay_blind_rating(
    signed: SignedEnvelope, opening: Opening, network: str, *, relay: str, http: httpx.Client | None = None
) -> RelayedPair:
    """Send one side of a pair of blind ratings to a relay. It is safe to send the same side again.

    The relay pays for the gas, and can read the rating. If it reveals an opening to the other side before both ratings
    are sealed, that side can retaliate, so choose a relay that you trust, or do not use one.

    Args:
        signed: Your side's signed envelope.
        opening: The envelope's opening. `BlindVault.all()` returns envelopes with their openings.
        network: The registry's chain (CAIP-2), such as `eip155:8453`.
        relay: The URL to post to: `https://…/v1/aggregator/blind-ratings`.
        http: The HTTP client. The default client accepts only https URLs and does not follow redirects.

    Returns:
        The pair as reported by the relay: its `state`, and the sides that are `missing`.

    Raises:
        InvalidArgumentError: The network is malformed, or the URL is not https.
        SealMismatchError: The opening does not match the envelope. Nothing is sent.
        FeedbackRefusedError: The relay rejected the message. The error's `code` is the reason.
        AggregatorFailedError: The relay could not be reached, or its response was invalid.
    """
    return post(http, relay, _message(signed, opening, network), _pair)


async def relay_blind_rating_async(
    signed: SignedEnvelope, opening: Opening, network: str, *, relay: str, http: httpx.AsyncClient | None = None
) -> RelayedPair:
    """Send one side of a pair of blind ratings to a relay without blocking. See `relay_blind_rating`."""
    return await post_async(http, relay, _message(signed, opening, network), _pair)


def _message(signed: SignedEnvelope, opening: Opening, network: str) -> dict[str, Any]:
    require_fit(signed.envelope, opening)
    parts = {"envelope": json.loads(signed.to_json()), "opening": json.loads(opening.to_json())}
    return {"network": str(ChainId.parse(network)), **parts}


def _pair(decoded: dict[str, Any], _is_new: bool) -> RelayedPair:
    problem = decoded["problem"]
    return RelayedPair(
        id=int(decoded["id"]),
        chain_id=int(decoded["chain_id"]),
        client_id=str(int(decoded["client_id"])),
        server_id=str(int(decoded["server_id"])),
        interaction="0x" + bytes.fromhex(decoded["interaction"].removeprefix("0x")).hex(),
        state=word_among(decoded["state"], _STATES),
        missing=tuple(word_among(side, _SIDES) for side in decoded["missing"]),
        problem=None if problem is None else printable(str(problem)[:_LONGEST_PROBLEM]),
    )
