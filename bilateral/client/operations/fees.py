"""Transaction fees: the node's quote and the client's limits."""

from collections.abc import Mapping
from statistics import median_low
from typing import Any, Final

from bilateral.client.operations import registries
from bilateral.client.state import ClientState
from bilateral.core.contracts import max_fees_of
from bilateral.core.errors import FeeLimitError, MalformedNodeAnswerError, NodeError
from bilateral.node import answers
from bilateral.node.steps import Operation, Rpc

_BLOCKS: Final = 10
"""The number of blocks whose tips are compared: with fewer, one block dominates; with more, surges are noticed late."""

HISTORY: Final = Rpc("eth_feeHistory", (hex(_BLOCKS), "latest", [50]))
"""The request for recent fees, whose result is passed to `quote`."""


def quote(state: ClientState, history: Any) -> Operation[dict[str, int]]:
    """Return the fees to pay: up to twice the base fee, plus the tip that other senders recently paid.

    If the node returns only a gas price, the tip limit applies to the whole price: the base fee is unknown, and
    everything above the base fee goes to the block's author.
    """
    max_fee, max_tip = _limits(state, (yield from registries.connect(state)).chain_id)
    try:
        if isinstance(history, Exception):
            raise history
        history = answers.record(history)
        base = answers.quantity(history["baseFeePerGas"][-1])
        tips = [tip for rewards in history.get("reward") or [] if (tip := answers.quantity(rewards[0]))]
    except (NodeError, MalformedNodeAnswerError, KeyError, IndexError, TypeError):
        price = answers.quantity((yield Rpc("eth_gasPrice")))
        _require_below("gas price", price, max_tip)
        return {"gasPrice": price}
    tip = median_low(tips) if tips else answers.quantity((yield Rpc("eth_maxPriorityFeePerGas")))
    _require_below("tip per gas", tip, max_tip)
    _require_below("fee per gas", base + tip, max_fee)
    return {"maxFeePerGas": min(2 * base + tip, max_fee), "maxPriorityFeePerGas": tip}


def replacing(state: ClientState, chain_id: int, previous: Mapping[str, Any], now: Mapping[str, int]) -> dict[str, int]:
    """Return fees for replacing a pending transaction: at least an eighth higher, as nodes require."""
    names = [name for name in ("gasPrice", "maxFeePerGas", "maxPriorityFeePerGas") if name in previous]
    fees = {name: max(previous[name] + previous[name] // 8 + 1, now.get(name, 0)) for name in names}
    if "maxFeePerGas" in fees:
        fees["maxFeePerGas"] = max(fees["maxFeePerGas"], fees["maxPriorityFeePerGas"])
    max_fee, max_tip = _limits(state, chain_id)
    for name in names:
        _require_below(name, fees[name], max_fee if name == "maxFeePerGas" else max_tip)
    return fees


def most(transaction: Mapping[str, Any]) -> int:
    """Return a transaction's maximum cost in wei: its gas limit times its maximum fee, plus its value."""
    price = transaction.get("maxFeePerGas", transaction.get("gasPrice", 0))
    return int(transaction["gas"] * price + transaction.get("value", 0))


def require_cost(state: ClientState, transaction: Mapping[str, Any]) -> None:
    """Raise an error if a transaction's cost exceeds the client's limit."""
    if state.max_cost is not None and most(transaction) > state.max_cost:
        raise FeeLimitError("cost", most(transaction), state.max_cost, "max_cost")


def _require_below(name: str, wei: int, limit: int) -> None:
    if wei > limit:
        raise FeeLimitError(name, wei, limit, "max_fee_per_gas")


def _limits(state: ClientState, chain_id: int) -> tuple[int, int]:
    """Return the maximum fee and the maximum tip for transactions that the client signs."""
    # A node may profit from the tip, so no number from the node determines the limit.
    explicit = state.max_fee_per_gas
    return max_fees_of(chain_id) if explicit is None else (explicit, explicit)
