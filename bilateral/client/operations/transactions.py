"""Functions that simulate, price, sign and send transactions, individually or in batches."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, TypeVar

from eth_utils.crypto import keccak

from bilateral.client.operations import confirmations, documents, fees, registries
from bilateral.client.state import ClientState, NonceMemory, Sent, TransactionSigner
from bilateral.core import errors
from bilateral.core.contracts import Registry
from bilateral.core.events import Event
from bilateral.core.signatures import signer_errors
from bilateral.node import answers
from bilateral.node.refusals import Refusal
from bilateral.node.steps import Batch, Blocking, Exclusive, Operation, Rpc, together

T = TypeVar("T")
E = TypeVar("E", bound="Event")

_NONCE_TRIES: Final = 5
"""How many further nonces to try if another program with the same key has already used the first one."""

_NONCE_MEMORY_SECONDS: Final = 60.0
"""How many seconds to trust this client's own nonce count. After that, all nodes behind a load balancer should
agree."""


class NonceUsedError(Exception):
    """Another transaction has already used the nonce. Nothing was sent."""


def send(
    state: ClientState,
    registry: Registry,
    function: str,
    arguments: Sequence[Any],
    decode: Callable[[Sequence[Event]], T],
) -> Operation[Sent[T]]:
    """Send a transaction that calls a function of a registry."""
    prepared = yield from prepare(state, registry, function, arguments, decode)
    if state.dry_run or state.is_collecting:
        return replace(prepared, transaction=prepared.transaction | {"nonce": _later_nonce(state, prepared.nonce)})
    sent: Sent[T] = yield Exclusive(_send_with_next_nonce(state, prepared))
    return sent


def prepare(
    state: ClientState,
    registry: Registry,
    function: str,
    arguments: Sequence[Any],
    decode: Callable[[Sequence[Event]], T],
) -> Operation[Sent[T]]:
    """Simulate a transaction, and set its gas limit and fees. It has no nonce yet.

    Any document in the arguments is stored once the simulation has succeeded.
    """
    sender = registries.require_address(state)
    if documents.are_published(state, arguments):
        rehearsal = yield from prepare(state, registry, function, documents.rehearsed(arguments), decode)
        if state.dry_run:  # a dry run stores nothing, so a placeholder is used as the URI
            return rehearsal
    arguments = yield from documents.settled(state, arguments)
    data = "0x" + registries.calldata(registry, function, arguments).hex()
    deployment = yield from registries.connect_to_sign(state)
    deployment.require_function(registry, function)
    to = yield from registries.require_registry(state, registry)
    call = {"from": sender, "to": to, "data": data}
    questions = (
        Rpc("eth_estimateGas", (call,)),
        fees.HISTORY,
        Rpc("eth_getBalance", (sender, "latest")),
        Rpc("eth_getTransactionCount", (sender, "pending")),
    )
    estimate, history, balance, nonce = yield Batch(questions)
    with registries.explained(deployment, registry, function):
        gas = yield from _estimated(call, estimate)
    price = yield from fees.quote(state, history)
    limit = gas + gas // 5  # the state, and thus the gas needed, may change before the transaction runs
    transaction = {"chainId": deployment.chain_id, "to": to, "value": 0, "data": data, "gas": limit, **price}
    fees.require_cost(state, transaction)
    if _number(balance) < fees.most(transaction) and not (state.dry_run and (yield from _is_contract(sender))):
        _require_balance(sender, _number(balance), fees.most(transaction))
    return Sent(registry, transaction, gas, decode, nonce=_number(nonce))


def next_nonce(state: ClientState) -> Operation[int]:
    """Return the nonce for the signer's next transaction: the node's count or, if larger, this client's."""
    return _later_nonce(state, (yield from confirmations.transaction_count(state, "pending")))


def send_with_nonce(state: ClientState, prepared: Sent[T], nonce: int) -> Operation[Sent[T]]:
    """Sign a transaction and send it."""
    signed = yield from sign(state, prepared, nonce)
    request = Rpc("eth_sendRawTransaction", ("0x" + bytes(signed.raw or b"").hex(),))
    try:
        try:
            yield request
        except errors.NODE_FAILURES as failure:
            yield from settle(state, signed, failure)
    except (errors.BilateralError, NonceUsedError):
        raise
    except BaseException as interruption:  # an interrupt or a cancelled task: re-raised, with the hash
        state.nonces = NonceMemory()
        interruption.add_note(f"Transaction {signed.hash} may have been sent. Look it up before you send it again.")
        raise
    remember_nonce(state, nonce)
    return signed


def sign(state: ClientState, prepared: Sent[T], nonce: int) -> Operation[Sent[T]]:
    """Sign a transaction with a nonce."""
    transaction = prepared.transaction | {"nonce": nonce}
    raw = yield from sign_transaction(registries.require_signer(state), transaction)
    return replace(prepared, transaction=transaction, hash="0x" + keccak(raw).hex(), raw=raw)


def settle(state: ClientState, signed: Sent[Any], failure: Exception) -> Operation[None]:
    """Return normally if the transaction was sent even though the node reported an error. Otherwise, raise an error."""
    hash_, nonce = str(signed.hash), int(signed.transaction["nonce"])
    node_message = failure.node_message if isinstance(failure, errors.NodeError) else ""
    meaning = Refusal.of(failure)
    is_priced_out = meaning is Refusal.PRICE_TOO_LOW_TO_REPLACE
    is_of_nonce = is_priced_out or meaning is Refusal.NONCE_USED
    if meaning is Refusal.HAS_IT:
        return
    if is_of_nonce:
        is_sent = yield from confirmations.has_its_nonce(state, nonce, hash_, is_priced_out=is_priced_out)
    else:
        is_sent = yield from confirmations.knows(hash_)
    if is_sent:
        return
    state.nonces = NonceMemory()
    if is_sent is None or meaning is Refusal.UNCLEAR:
        message = f"was sent to the node, which did not confirm receipt: {failure}"
        raise errors.SendUncertainError(message, hash_, signed.raw) from failure
    if is_of_nonce:
        remember_nonce(state, nonce)
        raise NonceUsedError(node_message) from None
    if meaning is Refusal.INSUFFICIENT_FUNDS:
        raise errors.InsufficientFundsError(str(registries.address_of(state)), node_message) from None
    raise failure


def remember_nonce(state: ClientState, nonce: int) -> None:
    """Record that a nonce has been used, because some nodes may not have its transaction yet."""
    state.nonces = NonceMemory(nonce + 1, time.monotonic())


def require_event(events: Sequence[Event], kind: type[E], **expected: Any) -> E:
    """Return the first event of the given kind whose fields have the expected values."""
    matching = [event for event in events if isinstance(event, kind)]
    for event in matching:
        if all(getattr(event, name) == value for name, value in expected.items()):
            return event
    if not matching:
        raise errors.UnexpectedAnswerError(f"it succeeded without emitting {kind.abi_name}: check the contract address")
    fields = ", ".join(f"{name}={value}" for name, value in expected.items())
    raise errors.UnexpectedAnswerError(f"it emitted {kind.abi_name}, but with values other than the expected {fields}")


def require_balance(state: ClientState, wei: int) -> Operation[None]:
    """Check that the signer's balance covers the given amount in wei."""
    sender = registries.require_address(state)
    _require_balance(sender, answers.quantity((yield Rpc("eth_getBalance", (sender, "latest")))), wei)


def _is_contract(account: str) -> Operation[bool]:
    """Return whether an account has code. If so, a paymaster or the bundler of its operations pays for its gas."""
    return bool(answers.data((yield Rpc("eth_getCode", (account, "latest")))))


def _require_balance(sender: str, balance: int, wei: int) -> None:
    if balance < wei:
        raise errors.InsufficientFundsError(sender, f"the balance is {balance} wei, but the transaction may cost {wei}")


def _later_nonce(state: ClientState, nonce: int) -> int:
    """Return the node's next nonce or this client's, whichever is larger."""
    is_fresh = time.monotonic() - state.nonces.updated_at < _NONCE_MEMORY_SECONDS
    return max(nonce, state.nonces.next) if is_fresh else nonce


def _send_with_next_nonce(state: ClientState, prepared: Sent[T]) -> Operation[Sent[T]]:
    """Send a transaction with the next nonce or, if another program with the same key used that first, a later one."""
    refusal = ""
    nonce = _later_nonce(state, prepared.nonce)
    for _ in range(_NONCE_TRIES):
        try:
            return (yield from send_with_nonce(state, prepared, nonce))
        except NonceUsedError as taken:
            refusal = str(taken)
            nonce = yield from next_nonce(state)
    raise errors.NodeError("eth_sendRawTransaction", None, refusal)


def _estimated(call: Mapping[str, Any], estimate: Any) -> Operation[int]:
    if not isinstance(estimate, errors.NodeError):
        return _number(estimate)
    if Refusal.of(estimate) is Refusal.INSUFFICIENT_FUNDS:
        raise errors.InsufficientFundsError(str(call["from"]), estimate.node_message) from None
    revert = answers.revert_of(estimate)
    if revert is None:
        raise estimate
    if not revert.data:  # some nodes report the reason only for calls
        yield from registries.simulate(call)
    raise revert from revert.__cause__


def _number(answer: Any) -> int:
    if isinstance(answer, Exception):
        raise answer
    return answers.quantity(answer)


_AT_A_TIME: Final = 50
"""How many transactions to send per request. If one fails, later ones in the same request may remain pending."""


def send_all(
    state: ClientState, writes: Sequence[Operation[Sent[Any]]], note: Callable[[int, Sent[Any]], None]
) -> Operation[None]:
    """Prepare writes together, and send them in order."""
    yield from registries.connect(state)
    prepared = yield from together(writes)
    if state.dry_run:
        for position, write in enumerate(prepared):
            nonce = int(write.transaction["nonce"]) + position
            note(position, replace(write, transaction=write.transaction | {"nonce": nonce}))
        return
    yield from require_balance(state, sum(fees.most(write.transaction) for write in prepared))
    yield Exclusive(_send(state, prepared, note))


def _send(state: ClientState, prepared: Sequence[Sent[Any]], note: Callable[[int, Sent[Any]], None]) -> Operation[None]:
    sent: list[str] = []
    nonce = (yield from next_nonce(state)) if prepared else 0
    for start in range(0, len(prepared), _AT_A_TIME):
        part: list[Sent[Any]] = []
        try:
            for number, write in enumerate(prepared[start : start + _AT_A_TIME], start):
                part.append((yield from sign(state, write, nonce + number)))
            failures = yield from _send_part(state, part)
        except errors.BilateralError as error:
            raise errors.BatchInterruptedError(tuple(sent), len(prepared) - len(sent), str(error)) from error
        except BaseException as interruption:  # an interrupt or a cancelled task: re-raised, with the hashes
            maybe = ", ".join([*sent, *(str(signed.hash) for signed in part)])
            interruption.add_note(f"These transactions may have been sent: {maybe or 'none'}.")
            raise
        for number, (write, failure) in enumerate(zip(part, failures, strict=True), start):
            if failure is None:
                sent.append(str(write.hash))
                note(number, write)
        first = next((failure for failure in failures if failure is not None), None)
        if first is not None:
            raise errors.BatchInterruptedError(tuple(sent), len(prepared) - len(sent), str(first)) from first
        remember_nonce(state, nonce + start + len(part) - 1)


def _send_part(state: ClientState, part: Sequence[Sent[Any]]) -> Operation[list[Exception | None]]:
    """Send signed transactions in one request. Return None for each that the node accepted, and the error otherwise."""
    requests = tuple(Rpc("eth_sendRawTransaction", ("0x" + bytes(signed.raw or b"").hex(),)) for signed in part)
    try:
        answers = yield Batch(requests)
    except errors.NODE_FAILURES as failure:
        answers = [failure] * len(part)
    failures: list[Exception | None] = []
    for write, answer in zip(part, answers, strict=True):
        failures.append(None)
        if isinstance(answer, Exception):
            try:
                yield from settle(state, write, answer)
            except (errors.BilateralError, NonceUsedError) as error:
                failures[-1] = error
    return failures


def sign_transaction(signer: TransactionSigner, unsigned: dict[str, Any]) -> Operation[bytes]:
    """Sign a transaction, and return its raw form."""

    def sign() -> bytes:
        with signer_errors():
            return bytes(signer.sign_transaction(unsigned).raw_transaction)

    raw: bytes = yield Blocking(sign)
    return raw
