"""Both runners perform every step of an operation, and leave failures to it."""

from __future__ import annotations

import asyncio
import threading

import pytest

from bilateral.core.errors import InvalidArgumentError
from bilateral.node.running import AsyncStepRunner, StepRunner
from bilateral.node.steps import Batch, Blocking, Exclusive, Pause, Rpc


class Node:
    """A node that answers with the names of the methods."""

    def request(self, method, parameters):
        if method == "fail":
            raise ConnectionError("no node")
        return method, *parameters

    def batch(self, requests):
        return [request.method for request in requests]


class AsyncNode(Node):
    """The same for an event loop."""

    async def request(self, method, parameters):
        return super().request(method, parameters)

    async def batch(self, requests):
        return super().batch(requests)


@pytest.fixture(params=["blocking", "async"])
def run(request):
    """Runs an operation on a runner of its own."""
    if request.param == "blocking":
        return lambda operation, node=True: StepRunner(Node() if node else None).run(operation)
    return lambda operation, node=True: asyncio.run(AsyncStepRunner(AsyncNode() if node else None).run(operation))


def test_each_kind_of_step_is_answered(run):
    def inner():
        return (yield Rpc("inner"))

    def operation():
        return [
            (yield Rpc("one", (1,))),
            (yield Batch((Rpc("two"), Rpc("three")))),
            (yield Blocking(lambda: "four")),
            (yield Pause(0)),
            (yield Exclusive(inner())),
        ]

    assert run(operation()) == [("one", 1), ["two", "three"], "four", None, ("inner",)]


def test_operation_without_steps_returns_its_result(run):
    def operation():
        return 7
        yield

    assert run(operation()) == 7


def test_failure_is_thrown_into_the_operation(run):
    def operation():
        try:
            yield Rpc("fail")
        except ConnectionError:
            return (yield Rpc("again"))

    assert run(operation()) == ("again",)


def test_failure_that_the_operation_does_not_handle_is_raised(run):
    def operation():
        yield Rpc("fail")

    with pytest.raises(ConnectionError, match="no node"):
        run(operation())


def test_step_that_needs_a_node_is_refused_without_one(run):
    def operation():
        result = yield Blocking(lambda: 1)
        with pytest.raises(InvalidArgumentError, match="its runner has none"):
            yield Rpc("eth_call")
        return result

    assert run(operation(), node=False) == 1


def test_exclusive_operations_of_threads_do_not_overlap():
    runner, inside, most = StepRunner(Node()), [], []

    def inner():
        inside.append(1)
        most.append(len(inside))
        yield Pause(0.001)
        inside.pop()

    def operation():
        yield Exclusive(inner())

    threads = [threading.Thread(target=runner.run, args=(operation(),)) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1] * 5
