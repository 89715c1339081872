"""A chain as deployments see it: one node, asked through web3.py."""

from __future__ import annotations

import time
from bisect import bisect_left
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from eth_utils.crypto import keccak
from hexbytes import HexBytes
from requests import HTTPError
from web3.exceptions import ContractLogicError, TransactionNotFound, Web3Exception, Web3RPCError

from bilateral.node import refusals
from scripts._deployment.errors import DeploymentError
from scripts._deployment.plan import DEPLOYER

if TYPE_CHECKING:
    from eth_typing import ChecksumAddress
    from web3 import Web3
    from web3.types import TxData

    from scripts._deployment.plan import PlannedContract

LOCAL_CHAIN_IDS = {1337, 31337}
"""Chains that end with their process."""

DEPLOYER_CODE_HASH = bytes.fromhex("2fa86add0aed31f33a762c9d88e807c475bd51d0f52bd0955754b2608f7e4989")
"""Keccak-256 of the deterministic deployer's code."""

DEPLOYER_AUTHOR = "0x3fAB184622Dc19b6109349B94811493BF2a45362"
"""The one-time account that signed the deterministic deployer's creation."""

DEPLOYER_CREATION = (
    "0xf8a58085174876e800830186a08080b853604580600e600039806000f350fe7fffffffffffffffffffffffffffffffffffffffffffffff"
    "ffffffffffffffffe03601600081602082378035828234f58015156039578182fd5b8082525050506014600cf31ba0222222222222222222"
    "2222222222222222222222222222222222222222222222a02222222222222222222222222222222222222222222222222222222222222222"
)
"""The signed transaction that creates the deterministic deployer, the same on every chain (price: 0.01 ether)."""

CANCUN_PROBE = HexBytes("0x5f5f5f5e")
"""Three times PUSH0 and one MCOPY (EIP-5656), which is an invalid opcode before Cancun."""

GAS_TO_SIMULATE = 10_000_000
"""The gas for the simulation of a creation, which is more than any contract of this project takes."""

PATIENCE = 30.0
"""Seconds for which a node may lag behind another node."""

POLL = 0.25
"""Seconds between two questions."""


@dataclass(frozen=True)
class Creation:
    """The creation of a contract. A field is None if the node does not know it.

    Attributes:
        transaction: The transaction's hash.
        block: Its block.
        sender: Who sent it.
    """

    transaction: str | None
    block: int | None
    sender: ChecksumAddress | None


@dataclass(frozen=True)
class SentTransaction:
    """A transaction that is in a block or waits for one.

    Attributes:
        sender: Who sent it.
        nonce: The sender's nonce that it uses.
        data: Its calldata.
    """

    sender: ChecksumAddress
    nonce: int
    data: bytes


@dataclass(frozen=True)
class Receipt:
    """The outcome of a transaction.

    Attributes:
        creation: Its hash, block and sender.
        succeeded: True if it did not revert.
        cost: Its price, in wei.
    """

    creation: Creation
    succeeded: bool
    cost: int


class Chain:
    """A chain, seen through one node.

    Attributes:
        chain_id: The chain.
        network: The network's name in Ape, as `base:sepolia`.
    """

    def __init__(self, web3: Web3, network: str) -> None:
        """Use a connected node.

        Args:
            web3: The connection.
            network: The network's name in Ape.
        """
        self._web3 = web3
        self.chain_id = web3.eth.chain_id
        self.network = network

    def require_cancun(self) -> None:
        """Make sure that the chain runs the opcodes of Cancun, which the registries' code needs.

        Raises:
            DeploymentError: If the chain does not run them.
        """
        try:
            answer = f"0x{bytes(self._web3.eth.call({'data': CANCUN_PROBE})).hex()}"
        except Web3RPCError as refusal:
            if is_temporary(refusal):
                raise
            answer = str(refusal)
        if answer != "0x":
            raise DeploymentError(
                f"Chain {self.chain_id} does not run Cancun, so the registries would be dead there: its node answers "
                f"the opcode MCOPY (EIP-5656) with {answer[:200]!r}. Deploy to a chain that has the Cancun upgrade."
            )

    def require_deployer(self) -> None:
        """Make sure that the deterministic deployer is there.

        Raises:
            DeploymentError: If it is not; the message says how to put it there.
        """
        code = self.code(DEPLOYER)
        if not code:
            raise DeploymentError(
                f"Chain {self.chain_id} has no deterministic deployer at {DEPLOYER}. To put it there, send 0.01 ether "
                f"to {DEPLOYER_AUTHOR}, then publish this signed transaction (eth_sendRawTransaction): "
                f"{DEPLOYER_CREATION}"
            )
        if keccak(code) != DEPLOYER_CODE_HASH:
            raise DeploymentError(
                f"Chain {self.chain_id} has other code than the deterministic deployer at {DEPLOYER}."
            )

    def code(self, address: ChecksumAddress) -> bytes:
        """Read the code at an address.

        Args:
            address: The address.

        Returns:
            The code; empty if there is none.
        """
        return bytes(self._web3.eth.get_code(address))

    def code_once_there(self, address: ChecksumAddress) -> bytes:
        """Read code that was just created, although the node may not have seen the block yet.

        Args:
            address: The address.

        Returns:
            The code; empty if there is none after all patience.
        """
        until = time.monotonic() + PATIENCE
        while not (code := self.code(address)) and time.monotonic() < until:
            time.sleep(POLL)
        return code

    def balance(self, address: ChecksumAddress) -> int:
        """Read an account's balance.

        Args:
            address: The account.

        Returns:
            The balance in wei.
        """
        return int(self._web3.eth.get_balance(address))

    def gas_price(self) -> int:
        """Read the present price of a unit of gas.

        Returns:
            The price in wei.
        """
        return int(self._web3.eth.gas_price)

    def next_nonce(self, address: ChecksumAddress) -> int:
        """Count the transactions of an account that are in blocks.

        Args:
            address: The account.

        Returns:
            The number.
        """
        return int(self._web3.eth.get_transaction_count(address, "latest"))

    def next_free_nonce(self, address: ChecksumAddress) -> int:
        """Count the transactions of an account that are in blocks or pending.

        Args:
            address: The account.

        Returns:
            The number.
        """
        return int(self._web3.eth.get_transaction_count(address, "pending"))

    def gas_to_deploy(self, contract: PlannedContract, sender: ChecksumAddress) -> int:
        """Ask the node for a deployment's gas.

        Args:
            contract: The contract.
            sender: Who deploys.

        Returns:
            Gas.
        """
        return int(self._web3.eth.estimate_gas({"from": sender, "to": DEPLOYER, "data": HexBytes(contract.calldata)}))

    def refusal_to_create(self, contract: PlannedContract) -> bytes | None:
        """Simulate a contract's creation.

        Args:
            contract: The contract.

        Returns:
            The data of its constructor's revert; None if it accepts its arguments.
        """
        try:
            self._web3.eth.call({"data": HexBytes(contract.init_code), "gas": GAS_TO_SIMULATE})
        except ContractLogicError as refusal:
            data = refusal.data
            return bytes(HexBytes(data)) if isinstance(data, str) and data.startswith("0x") else b""
        return None

    def send(self, raw: bytes) -> None:
        """Publish a signed transaction.

        Args:
            raw: Its serialisation.
        """
        self._web3.eth.send_raw_transaction(HexBytes(raw))

    def transaction(self, transaction: str) -> SentTransaction | None:
        """Look up a transaction.

        Args:
            transaction: Its hash.

        Returns:
            The transaction; None if the node does not know it.
        """
        try:
            stored = self._web3.eth.get_transaction(HexBytes(transaction))
        except TransactionNotFound:
            return None
        return SentTransaction(stored["from"], stored["nonce"], bytes(stored["input"]))

    def receipt(self, transaction: str) -> Receipt | None:
        """Read the outcome of a transaction.

        Args:
            transaction: Its hash.

        Returns:
            The outcome; None while it is in no block.
        """
        try:
            receipt = self._web3.eth.get_transaction_receipt(HexBytes(transaction))
        except TransactionNotFound:
            return None
        cost = receipt["gasUsed"] * receipt.get("effectiveGasPrice", 0)
        creation = Creation(transaction, receipt["blockNumber"], receipt["from"])
        return Receipt(creation, receipt["status"] == 1, cost)

    def call(self, address: ChecksumAddress, abi: list[dict[str, Any]], function: str) -> Any:
        """Call a view that takes no arguments.

        Args:
            address: The contract.
            abi: Its ABI.
            function: The view's name.

        Returns:
            The returned value.
        """
        return self._web3.eth.contract(address, abi=abi).functions[function]().call()

    def find_creation(self, contract: PlannedContract) -> Creation:
        """Find out how a contract came to be, by halving the range of blocks in which its code appeared.

        Args:
            contract: A contract that is on the chain.

        Returns:
            What there is to know: less where the node has forgotten old states or lags behind, or where somebody
            created the contract otherwise than by a plain transaction to the deterministic deployer.
        """
        unknown = Creation(None, None, None)
        try:
            head = int(self._web3.eth.block_number)
            if not self._web3.eth.get_code(contract.address, head):
                return unknown
            number = bisect_left(
                range(head), True, key=lambda block: bool(self._web3.eth.get_code(contract.address, block))
            )
            block = self._web3.eth.get_block(number, full_transactions=True)
        except (Web3Exception, HTTPError) as refusal:
            if is_temporary(refusal):
                raise
            return unknown
        for transaction in cast("list[TxData]", block["transactions"]):
            if transaction.get("to") == DEPLOYER and bytes(transaction["input"]) == contract.calldata:
                return Creation(f"0x{bytes(transaction['hash']).hex()}", number, transaction["from"])
        return Creation(None, number, None)


def is_temporary(refusal: Exception) -> bool:
    """Tell a failure that a later request may not meet, such as a rate limit, from a lasting one.

    Args:
        refusal: The failure.

    Returns:
        True if a retry may succeed.
    """
    if isinstance(refusal, HTTPError):
        return refusals.is_temporary("", status=refusal.response.status_code)
    return refusals.is_temporary(*words_of(refusal))


def words_of(refusal: Exception) -> tuple[str, int | None]:
    """Return the message of a node's error and its JSON-RPC code; None without a code."""
    answer = getattr(refusal, "rpc_response", None) or {}
    error = answer.get("error")
    code = error.get("code") if isinstance(error, dict) else None
    return str(refusal), code if isinstance(code, int) else None
