"""A local chain whose registries emit what a generator makes up."""

from __future__ import annotations

import json
import select
import threading
from collections import defaultdict
from functools import lru_cache
from http.client import HTTPConnection, HTTPException
from itertools import count
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from eth_abi.abi import encode
from eth_utils.crypto import keccak

from simulation.events import ADDRESSES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from simulation.events import Log

OPTIONS: Final = ("--gas-limit", "3000000000", "--no-mining", "--order", "fifo", "--code-size-limit", "100000")
"""Options of anvil under which many logs fit into a block."""

_SELECTOR: Final = keccak(text="emitLogs((bytes32[],bytes)[])")[:4]
_GAS: Final = hex(2_000_000_000)  # two thirds of a block's gas in `OPTIONS`
_GAS_PRICE: Final = hex(10**10)  # wei; above the base fee, which rises after full blocks


class Node:
    """A connection to a node, which threads may share. It takes a quarter of the time of a client of httpx.

    Args:
        url: The URL of the node's JSON-RPC.
        timeout: Seconds to wait for an answer.
    """

    def __init__(self, url: str, timeout: float = 120.0) -> None:
        self.url = url
        parts = urlsplit(url)
        self._target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        self._ids = count(1)
        self._connection = HTTPConnection(parts.netloc, timeout=timeout)
        self._lock = threading.Lock()  # rules of a proxy ask in its threads

    @property
    def is_connected(self) -> bool:
        """True if the connection of an earlier request is kept."""
        return self._connection.sock is not None

    def rpc(self, method: str, *parameters: Any) -> Any:
        """Call a method of JSON-RPC, and return its result."""
        answer = self.request(method, *parameters)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        return answer["result"]

    def request(self, method: str, *parameters: Any) -> Any:
        """Call a method of JSON-RPC, and return the whole answer."""
        body = {"jsonrpc": "2.0", "id": next(self._ids), "method": method, "params": parameters}
        return json.loads(self.post(json.dumps(body).encode())[1])

    def post(self, body: bytes) -> tuple[int, bytes]:
        """Send a request, and return the status and the content of the answer."""
        with self._lock:
            if (socket := self._connection.sock) and select.select([socket], [], [], 0)[0]:
                self._connection.close()  # so did the node, some time ago
            try:
                self._connection.request("POST", self._target, body, {"Content-Type": "application/json"})
                response = self._connection.getresponse()
                return response.status, response.read()
            except (OSError, HTTPException):
                self._connection.close()  # or the next answer would be this one
                raise

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


class EventChain(Node):
    """A chain run by anvil, at whose registries' addresses `MockLogEmitter` stands.

    Args:
        url: The URL of anvil's JSON-RPC.
        runtime_code: The runtime code of `MockLogEmitter`.
    """

    def __init__(self, url: str, runtime_code: str) -> None:
        super().__init__(url)
        for address in ADDRESSES.values():
            self.rpc("anvil_setCode", address, runtime_code)
        self._sender = self.rpc("eth_accounts")[0]
        self.rpc("anvil_setBalance", self._sender, hex(10**30))

    def mine(self, logs: Sequence[Log] = ()) -> int:
        """Mine a block with some logs.

        Args:
            logs: The logs. Consecutive ones of one registry are emitted by one transaction, in their order.

        Returns:
            The number of the block.
        """
        transactions: list[tuple[str, list[Log]]] = []
        for log in logs:
            if not transactions or transactions[-1][0] != log.address:
                transactions.append((log.address, []))
            transactions[-1][1].append(log)
        for address, entries in transactions:
            self.rpc("eth_sendTransaction", self.call_of(address, entries))
        self.rpc("evm_mine")
        return int(self.rpc("eth_blockNumber"), 16)

    def call_of(self, address: str, logs: Sequence[Log]) -> dict[str, str]:
        """Return the transaction that makes a contract emit logs.

        Args:
            address: The contract.
            logs: The logs.
        """
        data = _data_of(tuple(logs))
        return {"from": self._sender, "to": address, "gas": _GAS, "data": data, "gasPrice": _GAS_PRICE}

    def emitted(self) -> dict[tuple[str, str], int]:
        """Return how many logs of each registry and first topic the chain holds."""
        query = {"fromBlock": "0x0", "toBlock": "latest", "address": list(ADDRESSES.values())}
        counts: dict[tuple[str, str], int] = defaultdict(int)
        for log in self.rpc("eth_getLogs", query):
            counts[log["address"], log["topics"][0] if log["topics"] else ""] += 1
        return counts


@lru_cache(maxsize=10_000)
def _data_of(logs: tuple[Log, ...]) -> str:
    """Return the data of the call that emits logs. Many chains of a run begin with the same ones."""
    data = _SELECTOR + encode(["(bytes32[],bytes)[]"], [[(list(log.topics), log.data) for log in logs]])
    return "0x" + data.hex()
