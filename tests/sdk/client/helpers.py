"""Helpers of the client's tests: plain web3.py, and an `AsyncClient` that is waited for."""

from __future__ import annotations

import asyncio
import inspect
import json
import threading

from bilateral.client import AsyncClient, AsyncHandle, AsyncSignalBatch
from bilateral.core.contracts import abi
from bilateral.core.contracts.buyer_terms import SignedPayment
from scripts._payments import payment_message

CHAIN_ID = 31337


def deploy(web3, container, *arguments):
    """Deploy a compiled contract from the chain's first account, and return its address."""
    bytecode = container.contract_type.deployment_bytecode.bytecode
    contract = web3.eth.contract(abi=abi_of(container), bytecode=bytecode)
    sent = contract.constructor(*arguments).transact({"from": web3.eth.accounts[0]})
    return web3.eth.wait_for_transaction_receipt(sent, poll_latency=0.02)["contractAddress"]


def abi_of(container):
    """Return the ABI of a compiled contract, as web3.py takes it."""
    return json.loads(container.contract_type.model_dump_json(by_alias=True, exclude_none=True))["abi"]


def signed_payment(buyer, payee, amount, nonce, token, chain_id=CHAIN_ID):
    """Sign a payment in the test token, as a client of x402 does (EIP-3009)."""
    terms = (buyer.address, payee, amount, 0, 2**32, nonce)
    message = payment_message(terms, token, chain_id)
    return SignedPayment(*terms, bytes(buyer.sign_message(message).signature), token)


def plain(web3, registry, address):
    """A registry for plain web3.py, which knows its ABI and nothing of this package."""
    return web3.eth.contract(address=address, abi=list(abi(registry)))


def transact(web3, function, sender):
    """Send a transaction by plain web3.py, signed by an eth-account account, and return its receipt."""
    return send(web3, sender, function.address, function._encode_transaction_data())


def send(web3, sender, to, data, *, tip=10**9, then=lambda: None):
    """Send any data to a contract, do something, and return the receipt."""
    transaction = {
        "chainId": CHAIN_ID,
        "to": to,
        "data": data,
        "gas": 400_000_000,
        "maxFeePerGas": 2 * tip,
        "maxPriorityFeePerGas": tip,
        "nonce": nonce_of(web3, sender),
    }
    sent = web3.eth.send_raw_transaction(sender.sign_transaction(transaction).raw_transaction)
    then()
    receipt = web3.eth.wait_for_transaction_receipt(sent, poll_latency=0.01)
    assert receipt["status"] == 1
    return receipt


def overtaken_by(web3, account):
    """Another program sends a transaction of the account in the moment before the client does."""

    def overtake(_, forward):
        send(web3, account, account.address, "0x")
        return forward()

    return overtake


class Awaited:
    """An `AsyncClient`, or a handle of one, each of whose methods is waited for: tests are the same for both."""

    _loop = None

    def __init__(self, rpc, **settings):
        self._inner = self._await(self._made(lambda: AsyncClient(rpc, **settings)))

    @staticmethod
    async def _made(make):
        return make()

    @classmethod
    def of(cls, inner):
        wrapped = cls.__new__(cls)
        wrapped._inner = inner
        return wrapped

    @classmethod
    def _await(cls, coroutine):
        if cls._loop is None:
            cls._loop = asyncio.new_event_loop()
            threading.Thread(target=cls._loop.run_forever, daemon=True).start()
        return asyncio.run_coroutine_threadsafe(coroutine, cls._loop).result()

    def __getattr__(self, name):
        attribute = getattr(self._inner, name)
        if inspect.iscoroutinefunction(attribute):
            return lambda *arguments, **options: self._wrapped(self._await(attribute(*arguments, **options)))
        if name == "runner":
            return self.of(attribute)
        return (lambda: self.of(attribute())) if name == "batch" else self._wrapped(attribute)

    def __enter__(self):
        self._await(self._inner.__aenter__())
        return self

    def __exit__(self, *error):
        self._await(self._inner.__aexit__(*error))

    def __repr__(self):
        return repr(self._inner)

    @classmethod
    def _wrapped(cls, value):
        if isinstance(value, tuple) and any(isinstance(item, AsyncHandle) for item in value):
            return tuple(map(cls.of, value))
        return cls.of(value) if isinstance(value, AsyncHandle | AsyncSignalBatch) else value


def nonce_of(web3, account):
    """Return the number of an account's transactions, pending ones included."""
    return web3.eth.get_transaction_count(account.address, "pending")
