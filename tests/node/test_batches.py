"""Batches of requests, and what becomes of them at nodes that refuse batches."""

from __future__ import annotations

import pytest

from bilateral.core.errors import MalformedNodeAnswerError, NodeError, NodeUnreachableError
from bilateral.node.steps import Batch, Blocking, Pause, Rpc, together
from tests.node.conftest import answer_to, error_to, reply_with


def requests(number, method="eth_call"):
    return [Rpc(method, (hex(position),)) for position in range(number)]


def sizes(node):
    return [len(body) if isinstance(body, list) else 1 for body in node.asked]


def test_a_batch_is_one_post(connect, node):
    assert connect(node.url).batch([Rpc("eth_chainId"), Rpc("eth_gasPrice")]) == ["eth_chainId", "eth_gasPrice"]
    assert sizes(node) == [2]


@pytest.mark.parametrize(("number", "posts"), [(0, []), (1, [1]), (100, [100]), (101, [100, 1]), (250, [100, 100, 50])])
def test_a_batch_has_at_most_a_hundred_requests(connect, node, number, posts):
    assert len(connect(node.url).batch(requests(number))) == number
    assert sizes(node) == posts


def test_answers_may_come_in_any_order(connect, node):
    node.reply = lambda handler, body: reply_with(handler, answer_to(body)[::-1])
    assert connect(node.url).batch([Rpc("eth_chainId"), Rpc("eth_gasPrice")]) == ["eth_chainId", "eth_gasPrice"]


def test_one_error_in_a_batch_is_one_error(connect, node):
    node.reply = lambda handler, body: reply_with(handler, [error_to(body[0], "no"), answer_to(body[1])])
    error, result = connect(node.url).batch([Rpc("eth_call"), Rpc("eth_gasPrice")])
    assert isinstance(error, NodeError)
    assert (error.node_message, result) == ("no", "eth_gasPrice")


@pytest.mark.parametrize(
    ("status", "answer"),
    [
        (200, {"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": "batches are not supported"}}),
        (400, "bad request"),
        (405, {}),
        (500, {}),
    ],
)
def test_a_node_that_refuses_batches_is_asked_one_by_one(connect, node, status, answer):
    def reply(handler, body):
        if isinstance(body, list):
            reply_with(handler, answer, status)
        else:
            reply_with(handler, answer_to(body))

    node.reply = reply
    transport = connect(node.url, 30)
    assert transport.batch(requests(12)) == ["eth_call"] * 12
    node.asked.clear()
    assert transport.batch(requests(3)) == ["eth_call"] * 3
    assert sizes(node) == [1, 1, 1]


def test_a_node_that_refuses_large_batches_gets_smaller_ones(connect, node):
    node.reply = lambda handler, body: reply_with(
        handler, answer_to(body) if len(body) <= 10 else {"error": {"code": -32600, "message": "batch too large"}}
    )
    assert len(connect(node.url).batch(requests(25))) == 25
    assert sizes(node) == [25, 10, 10, 5]


def test_a_request_without_an_answer_is_sent_again_alone(connect, node):
    node.reply = lambda handler, body: reply_with(handler, answer_to(body[:1] if isinstance(body, list) else body))
    assert connect(node.url).batch([Rpc("eth_chainId"), Rpc("eth_gasPrice")]) == ["eth_chainId", "eth_gasPrice"]
    assert sizes(node) == [2, 1]


def test_a_transaction_without_an_answer_is_not_sent_again(connect, node):
    node.reply = lambda handler, body: reply_with(handler, answer_to(body[:1]))
    first, second = connect(node.url).batch(requests(2, "eth_sendRawTransaction"))
    assert first == "eth_sendRawTransaction"
    assert isinstance(second, MalformedNodeAnswerError)
    assert sizes(node) == [2]


def test_a_batch_whose_gateway_fails_is_told(connect, node):
    node.reply = lambda handler, _: reply_with(handler, {}, 502)
    with pytest.raises(NodeUnreachableError, match="HTTP status 502"):
        connect(node.url).batch(requests(2, "eth_sendRawTransaction"))
    assert sizes(node) == [2]


def test_a_provider_is_asked_one_by_one(connect):
    asked = []

    class Own:
        def make_request(self, method, params):
            asked.append((method, params))
            return {"result": len(asked)} if method != "bad" else {"error": {"message": "no"}}

    class OwnAsync(Own):
        async def make_request(self, method, params):
            return super().make_request(method, params)

    is_blocking = "Transport" in type(connect("http://localhost:9")).__name__
    first, second, third = connect(Own() if is_blocking else OwnAsync()).batch([Rpc("a", (1,)), Rpc("bad"), Rpc("c")])
    assert (first, third, str(second)) == (1, 3, 'the node rejected bad: "no"')
    assert asked == [("a", [1]), ("bad", []), ("c", [])]


def run(operation, answer):
    """Run an operation, and return its result and the steps it took."""
    steps = []
    try:
        step = next(operation)
        while True:
            steps.append(step)
            step = operation.send(answer(step))
    except StopIteration as end:
        return end.value, steps


def answer_of(step):
    if isinstance(step, Batch):
        return [
            NodeError(request.method, 3, "refused") if request.method == "bad" else request.parameters
            for request in step.requests
        ]
    return step.function() if isinstance(step, Blocking) else None


def test_operations_run_in_step_send_their_requests_as_one_batch():
    def operation(number):
        first = yield Rpc("one", (number,))
        second = yield Rpc("two", (number,))
        return first + second

    result, steps = run(together([operation(number) for number in range(3)]), answer_of)
    assert result == [(0, 0), (1, 1), (2, 2)]
    assert [[request.method for request in step.requests] for step in steps] == [["one"] * 3, ["two"] * 3]


def test_equal_reads_of_a_round_are_sent_once_and_transactions_are_not():
    def operation(method):
        return (yield Rpc(method, (1,)))

    methods = ["eth_call", "eth_call", "eth_sendRawTransaction", "eth_sendRawTransaction"]
    result, (step,) = run(together([operation(method) for method in methods]), answer_of)
    assert result == [(1,)] * 4
    assert [request.method for request in step.requests] == [
        "eth_call",
        "eth_sendRawTransaction",
        "eth_sendRawTransaction",
    ]


def test_batches_pauses_and_calls_of_operations_run_too():
    def batch():
        return (yield Batch((Rpc("a", (1,)), Rpc("bad"))))

    def blocking():
        return (yield Blocking(lambda: "called"))

    def pause(seconds):
        yield Pause(seconds)

    result, steps = run(together([batch(), blocking(), pause(1.0), pause(3.0)]), answer_of)
    assert (result[0][0], str(result[0][1]), result[1:]) == (
        (1,),
        'the node rejected bad: "refused"',
        ["called", None, None],
    )
    assert [step.seconds for step in steps if isinstance(step, Pause)] == [3.0]


def test_an_error_reaches_its_operation_only():
    def operation(method):
        try:
            return (yield Rpc(method))
        except NodeError as error:
            return error.node_message

    result, _ = run(together([operation("bad"), operation("good")]), answer_of)
    assert result == ["refused", ()]


def test_an_error_that_an_operation_raises_ends_all():
    closed = []

    def failing():
        yield Rpc("bad")

    def waiting():
        try:
            yield Rpc("a")
            yield Rpc("b")
        finally:
            closed.append(True)

    with pytest.raises(NodeError):
        run(together([failing(), waiting()]), answer_of)
    assert closed == [True]


def test_no_operations_give_no_results():
    assert run(together([]), answer_of) == ([], [])
