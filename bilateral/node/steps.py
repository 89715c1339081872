"""Operations and their steps: an operation is a generator that yields steps, receives results, and returns a value.

An operation does no I/O itself. The blocking `Client` and `AsyncClient` run the same operations.
"""

import json
from collections.abc import Awaitable, Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, TypeVar

S = TypeVar("S")
T = TypeVar("T")

Step: TypeAlias = "Rpc | Batch | Blocking | Pause | Exclusive"

Operation: TypeAlias = Generator[Step, Any, T]
"""A generator that yields steps, receives their results, and returns a `T`."""


@dataclass(frozen=True)
class Rpc:
    """A request to the node. Its result is the JSON-RPC `result`. Errors are raised in the operation as `NodeError`.

    Attributes:
        method: The method, such as `eth_call`.
        parameters: The method's parameters, as JSON values.
    """

    method: str
    parameters: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Batch:
    """Several requests that are sent to the node together.

    The result is a list in the same order. For each request, it contains the `result`, or the exception that `Rpc`
    would raise.
    """

    requests: tuple[Rpc, ...]


@dataclass(frozen=True)
class Blocking:
    """A call to a function that may take a while, such as loading a file. Its result is the function's result."""

    function: Callable[[], Any]


@dataclass(frozen=True)
class Pause:
    """A pause before the next step.

    Attributes:
        seconds: The length of the wait.
    """

    seconds: float


@dataclass(frozen=True)
class Exclusive:
    """An operation that must not overlap with the client's other exclusive operations. The step returns its result.

    Attributes:
        operation: The operation to run.
    """

    operation: Operation[Any]


@dataclass(frozen=True)
class Failure:
    """An exception to throw into the operation in place of a result.

    Attributes:
        error: The exception.
    """

    error: BaseException


_NOT_SHARED: Final = ("eth_sendRawTransaction", "sendTransaction")
"""Methods with side effects: identical requests for them are not merged."""


def run(steps: Generator[S, Any, T], perform: Callable[[S], Any]) -> T:
    """Run a generator of steps to completion. `perform` performs each step; its exceptions reach the generator."""
    try:
        step = next(steps)
        while True:
            try:
                answer = perform(step)
            except BaseException as error:  # noqa: BLE001  # the steps decide about it
                step = steps.throw(error)
            else:
                step = steps.send(answer)
    except StopIteration as end:
        result: T = end.value
        return result


async def run_async(steps: Generator[S, Any, T], perform: Callable[[S], Awaitable[Any]]) -> T:
    """Run a generator of steps to completion, using a coroutine that performs one step. See `run`."""
    try:
        step = next(steps)
        while True:
            try:
                answer = await perform(step)
            except BaseException as error:  # noqa: BLE001  # the steps decide about it
                step = steps.throw(error)
            else:
                step = steps.send(answer)
    except StopIteration as end:
        result: T = end.value
        return result


def together(operations: Sequence[Operation[T]]) -> Operation[list[T]]:
    """Run operations in lockstep, and send their requests to the node as one batch per round.

    For example, ten thousand reads that need three requests each are sent as three batches. Identical requests in a
    round are sent once.
    """
    results: dict[int, T] = {}
    answers: dict[int, Any] = dict.fromkeys(range(len(operations)))
    try:
        while answers:
            steps: dict[int, Step] = {}
            for number, answer in answers.items():
                try:
                    steps[number] = advance(operations[number], answer)
                except StopIteration as end:
                    results[number] = end.value
            answers = yield from _answers_of(steps)
    finally:
        for operation in operations:
            operation.close()
    return [results[number] for number in range(len(operations))]


def advance(operation: Operation[Any], answer: Any) -> Step:
    """Pass the result of an operation's last step to the operation, and return its next step."""
    if isinstance(answer, Failure):
        return operation.throw(answer.error)
    return operation.send(answer)


def _answers_of(steps: dict[int, Step]) -> Operation[dict[int, Any]]:
    results = yield from _ask({number: step for number, step in steps.items() if isinstance(step, (Rpc, Batch))})
    pauses = {number: step.seconds for number, step in steps.items() if isinstance(step, Pause)}
    if pauses:
        yield Pause(max(pauses.values()))
        results |= dict.fromkeys(pauses)
    for number, step in steps.items():
        if isinstance(step, (Blocking, Exclusive)):
            try:
                results[number] = yield step
            except Exception as error:  # noqa: BLE001  # the operation decides about it
                results[number] = Failure(error)
    return results


def _ask(steps: dict[int, Rpc | Batch]) -> Operation[dict[int, Any]]:
    """Send the requests of several operations as one batch, merging identical requests."""
    places: dict[str, int] = {}
    requests: list[Rpc] = []
    needed: dict[int, list[int]] = {}
    for number, step in steps.items():
        needed[number] = []
        for request in (step,) if isinstance(step, Rpc) else step.requests:
            key = json.dumps([request.method, request.parameters])
            if request.method in _NOT_SHARED or key not in places:
                places[key] = len(requests)
                requests.append(request)
            needed[number].append(places[key])
    if not requests:
        return {}
    try:
        replies = yield Batch(tuple(requests))
    except Exception as error:  # noqa: BLE001  # each operation decides about it
        return dict.fromkeys(steps, Failure(error))
    answers: dict[int, Any] = {}
    for number, step in steps.items():
        items = [replies[place] for place in needed[number]]
        if isinstance(step, Batch):
            answers[number] = items
        else:
            answers[number] = Failure(items[0]) if isinstance(items[0], Exception) else items[0]
    return answers
