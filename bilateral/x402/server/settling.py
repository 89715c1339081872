"""A signer for the SDK's facilitator that settles payments through the buyer registry, which records them.

Clients and servers need no changes: `payTo` remains the seller's wallet, and the buyer signs the same message as
always. The registry submits the payment to its token and records it in the same transaction:

    signer = SettlingSigner(private_key, rpc_url, registry=deployment.buyers)
    register_exact_evm_facilitator(facilitator, signer, networks="eip155:8453")
"""

import time
from collections.abc import Callable, Collection
from functools import partial
from typing import Any, Final

from eth_utils.crypto import keccak
from web3.exceptions import ContractLogicError, TimeExhausted
from x402.mechanisms.evm.signers import FacilitatorWeb3Signer
from x402.mechanisms.evm.types import TransactionReceipt

from bilateral.core.contracts import Registry, abi
from bilateral.core.identifiers import checksummed
from bilateral.core.payments import PaymentKind, SignedPayment
from bilateral.core.payments.contracts import EXACT_PROXY
from bilateral.core.payments.signed import WORD
from bilateral.node.running import StepRunner
from bilateral.node.transport import Transport
from bilateral.x402.proof.payments import PaymentProblemError, find_payment
from bilateral.x402.proof.settlements import SEARCHED_BLOCKS, look_up
from bilateral.x402.server.exchange import Reservations

_TRANSFER_BY_SIGNATURE: Final = "transferWithAuthorization"
_SETTLE: Final = {
    len(entry["inputs"]): [dict(entry)] for entry in abi(Registry.BUYERS) if entry.get("name") == "settle"
}
"""The ABI of each `settle` overload, by number of arguments."""

_SETTLE_BY_PERMIT2: Final = ("settle", "settleWithPermit")
_REQUEST_SECONDS: Final = 30.0
_TERMS: Final = 6
"""The number of arguments of a token's `transferWithAuthorization` that precede the signature."""

_TOKENS: Final = [dict(entry) for entry in abi(Registry.BUYERS) if entry.get("name") == "getTokenAddresses"]


class SettlingSigner(FacilitatorWeb3Signer):
    """Settles EIP-3009 payments through the buyer registry. Other payments and tokens are handled by the SDK.

    Anyone who sees a signed payment with the scheme `exact` can submit it first. The payment is then made, but not
    recorded. The signer finds that transaction and reports it once, so that the server delivers the answer. Submitting
    a payment again that the signer itself has already settled still fails.

    Args:
        private_key: The key of the account that pays for the gas, in hexadecimal digits.
        rpc_url: The URL of a node.
        registry: The buyer registry.
        own_accounts: The accounts of the facilitator's other processes. Payments submitted by these accounts are
            treated as this signer's own.
        reservations: Remembers which of the payments submitted by others have already been reported. Signers in one
            process may share it. By default, each signer has its own.
        searched_blocks: How many of the latest blocks to search for payments that others submitted.
        **options: The SDK's own options, such as `gas_limit`.
    """

    def __init__(  # noqa: PLR0913  # the SDK's arguments and three of ours
        self,
        private_key: str,
        rpc_url: str,
        registry: str,
        *,
        own_accounts: Collection[str] = (),
        reservations: Reservations | None = None,
        searched_blocks: int = SEARCHED_BLOCKS,
        **options: Any,
    ) -> None:
        super().__init__(private_key, rpc_url, **options)
        self._registry = checksummed(registry)
        self._own = frozenset({checksummed(self.address), *map(checksummed, own_accounts)})
        self._reservations = Reservations() if reservations is None else reservations
        self._searched_blocks = searched_blocks
        self._deadlines: dict[str, float] = {}
        self._runner = StepRunner(Transport(rpc_url, _REQUEST_SECONDS))
        self._tokens = frozenset(self.read_contract(self._registry, _TOKENS, "getTokenAddresses"))

    def write_contract(
        self, address: str, abi: list[dict[str, Any]], function_name: str, *args: Any, data_suffix: str | None = None
    ) -> str:
        """Send a transaction. For a payment in a token that the registry lists, call the registry's `settle` instead.

        Args:
            address: The contract that the SDK would call.
            function_name: The function that the SDK would call.
            *args: The function's arguments.
            data_suffix: Bytes to append to the calldata, in hexadecimal digits.

        Returns:
            The hash of the transaction that made the payment.

        Raises:
            ContractLogicError: The registry or the token rejected the payment, and nobody else submitted it.
        """
        contract = checksummed(address)
        if contract == EXACT_PROXY and function_name in _SETTLE_BY_PERMIT2:
            ((token, amount), nonce, deadline), owner, (payee, valid_after), _ = args[-4:]
            sides = checksummed(token), checksummed(owner), checksummed(payee)
            terms = amount, nonce.to_bytes(WORD), valid_after, deadline
            find = partial(self._settled_by_strangers, SignedPayment(PaymentKind.PERMIT2_EXACT, *sides, *terms))
            return self._submit(find, data_suffix, contract, abi, function_name, *args)
        if function_name != _TRANSFER_BY_SIGNATURE or contract not in self._tokens:
            return super().write_contract(address, abi, function_name, *args, data_suffix=data_suffix)
        payer, payee, amount, valid_after, valid_before, nonce = args[:_TERMS]
        sides = contract, checksummed(payer), checksummed(payee)
        authorized: tuple[Any, ...] = amount, bytes(nonce), valid_after, valid_before
        find = partial(self._settled_by_strangers, SignedPayment(PaymentKind.EIP3009, *sides, *authorized))
        arguments = (*args[:_TERMS], contract, *args[_TERMS:])
        return self._submit(find, data_suffix, self._registry, _SETTLE[len(arguments)], "settle", *arguments)

    def _submit(self, find: Callable[[], str | None], data_suffix: str | None, *call: Any) -> str:
        """Send a transaction, unless someone else has made the payment or makes it first."""
        try:
            self.read_contract(*call)
        except ContractLogicError:
            submitted = find()
            if submitted is None:
                raise
            return submitted
        sent = super().write_contract(*call, data_suffix=data_suffix)
        self._deadlines[sent] = time.monotonic() + self._confirmation_timeout_seconds
        return self._overtaken(sent, find) or sent

    def wait_for_transaction_receipt(self, tx_hash: str) -> TransactionReceipt:
        """Wait for a transaction to be mined. Time that `write_contract` has already waited counts towards the limit.

        Args:
            tx_hash: The transaction.

        Raises:
            TimeExhausted: The transaction was not mined in time.
        """
        deadline = self._deadlines.pop(tx_hash, None)
        if deadline is not None:
            self._w3.eth.wait_for_transaction_receipt(tx_hash, timeout=max(0.0, deadline - time.monotonic()))  # type: ignore[arg-type]
        return super().wait_for_transaction_receipt(tx_hash)

    def _overtaken(self, sent: str, find: Callable[[], str | None]) -> str | None:
        """Return someone else's transaction that came first, or None if this signer's own succeeded or is pending."""
        try:
            receipt = self._w3.eth.wait_for_transaction_receipt(sent, timeout=self._confirmation_timeout_seconds)  # type: ignore[arg-type]
        except TimeExhausted:
            return None  # the SDK looks once more, and reports the payment as pending
        del self._deadlines[sent]
        return None if receipt["status"] == 1 else find()

    def _settled_by_strangers(self, signed: SignedPayment) -> str | None:
        """Return someone else's transaction that made a payment; None if there is none or it was already reported."""
        transaction = self._runner.run(look_up(signed, searched_blocks=self._searched_blocks)).transaction
        if transaction is None or checksummed(self._w3.eth.get_transaction(transaction)["from"]) in self._own:  # type: ignore[arg-type]
            return None
        try:
            self._runner.run(find_payment(signed, transaction, 1))  # a nonce may have been used for other terms
        except PaymentProblemError:
            return None
        key, holder = keccak(bytes.fromhex(signed.asset[2:] + signed.payer[2:]) + signed.nonce), object()
        is_first = self._reservations.take(key, holder)
        if is_first:
            self._reservations.settle(key, holder)
        return transaction if is_first else None
