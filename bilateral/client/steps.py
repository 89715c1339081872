"""The steps of an operation. An operation is a generator: it yields steps, is sent their answers, and returns a result.

It does no input or output itself, so one and the same operation serves `Client`, which blocks, and `AsyncClient`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

T = TypeVar("T")

Step: TypeAlias = "Rpc | Blocking | Pause | Exclusive"

Operation: TypeAlias = Generator[Step, Any, T]
"""Yields steps, is sent their answers, returns a `T`."""


@dataclass(frozen=True)
class Rpc:
    """Ask the node. The answer is the `result` of JSON-RPC; a `NodeError` is thrown where there is none.

    Attributes:
        method: The method, as `eth_call`.
        parameters: Its parameters, in the form of JSON.
    """

    method: str
    parameters: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Blocking:
    """Call a function that may take long: loading or storing a document, signing. The answer is what it returns.

    Attributes:
        function: The function.
    """

    function: Callable[[], Any]


@dataclass(frozen=True)
class Pause:
    """Wait.

    Attributes:
        seconds: For how long.
    """

    seconds: float


@dataclass(frozen=True)
class Exclusive:
    """Run another operation while no other such one of the client runs. The answer is its result.

    Attributes:
        operation: The other operation.
    """

    operation: Operation[Any]
