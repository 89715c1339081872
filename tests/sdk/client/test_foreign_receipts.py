"""A receipt of another transaction is not taken for ours, whichever part of it a proxy forges."""

from __future__ import annotations

import pytest

from bilateral.core.errors import UnexpectedAnswerError


@pytest.fixture
def foreign(connect, node, agent, reviewer, newcomer):
    """A write of the newcomer, and the receipt of a feedback that another client gave."""
    other = connect(reviewer).give_feedback(agent, 99)
    other.wait()
    handle = connect(newcomer, to=node.url).give_feedback(agent, 1)

    def forge(**changes):
        def answer(parameters, forward):
            ours = forward()["result"]
            parameters[0] = other.hash
            receipt = forward()["result"]
            named = {name: ours[name] for name in ("transactionHash", "from", "to") if name not in changes}
            logs = [log | {"transactionHash": ours["transactionHash"]} for log in receipt["logs"]]
            return {"result": receipt | {"logs": logs} | named | changes}

        node.interference["eth_getTransactionReceipt"] = answer
        return handle

    return forge


ADDRESS = "0x8004b663056a597dffe9eccc1965a193b7388713"


@pytest.mark.parametrize(("name", "value"), [("transactionHash", "0x" + "11" * 32), ("from", ADDRESS), ("to", ADDRESS)])
def test_a_receipt_with_another_hash_sender_or_recipient_is_refused(foreign, name, value):
    handle = foreign(**{name: value})
    with pytest.raises(UnexpectedAnswerError, match=f"a receipt with a different {name}") as caught:
        handle.wait(60)
    assert caught.value.transaction == handle.hash


def test_an_event_of_another_client_is_refused(foreign):
    handle = foreign()
    with pytest.raises(UnexpectedAnswerError, match="it emitted NewFeedback, but with values other than"):
        handle.wait(60)


def test_an_event_about_another_agent_is_refused(connect, node, register, agent, newcomer):
    other = connect(newcomer).give_feedback(register(), 99)
    other.wait()
    handle = connect(newcomer, to=node.url).give_feedback(agent, 1)

    def answer(parameters, forward):
        ours = forward()["result"]
        parameters[0] = other.hash
        logs = [log | {"transactionHash": ours["transactionHash"]} for log in forward()["result"]["logs"]]
        return {"result": ours | {"logs": logs}}

    node.interference["eth_getTransactionReceipt"] = answer
    with pytest.raises(UnexpectedAnswerError, match="it emitted NewFeedback, but with values other than"):
        handle.wait(60)
