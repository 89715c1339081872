"""Smart wallets on a `PaymentChain`: deployed, not deployed yet (ERC-6492), and operated through bundles (ERC-4337)."""

from __future__ import annotations

from eth_abi.abi import encode
from eth_account import Account
from eth_utils.address import to_checksum_address
from eth_utils.crypto import keccak
from x402.mechanisms.evm.constants import ERC6492_MAGIC_VALUE

from tests.permit2 import PERMIT2, WalletSigner

ENTRY_POINT = to_checksum_address("0x0000000071727de22e5e9d8baf0edac6f37da032")
FACTORY = to_checksum_address("0xfac7" + "00" * 17 + "01")
BUNDLER = Account.from_key(keccak(text="bundler"))


class UndeployedSigner(WalletSigner):
    """Signs for a smart account that is not deployed: each signature says how to deploy it (ERC-6492)."""

    def __init__(self, address, key, factory, call):
        super().__init__(address, key)
        self._deployment = factory, call

    def sign_typed_data(self, *arguments):
        inner = super().sign_typed_data(*arguments)
        return encode(["address", "bytes", "bytes"], [*self._deployment, inner]) + ERC6492_MAGIC_VALUE


class Wallets:
    """Makes smart accounts.

    Args:
        chain: The `PaymentChain`, which gets the entry point and a factory of accounts.
    """

    def __init__(self, chain):
        self.chain = chain
        chain.put(ENTRY_POINT, "MockEntryPoint")
        chain.put(FACTORY, "MockSmartAccountFactory")

    def undeployed(self, owner, salt=0, amount=10**9):
        """Return the signer of an account that has tokens and no code."""
        call = self.chain.code("MockSmartAccountFactory", "getAddress", owner.address, salt)
        address = to_checksum_address(self.chain.read(FACTORY, call)[12:])
        self.chain.fund(address, amount)
        create = self.chain.code("MockSmartAccountFactory", "createAccount", owner.address, salt)
        return UndeployedSigner(address, owner, FACTORY, create)

    def deploy(self, owner, salt=0, amount=10**9):
        """Deploy an account with tokens that Permit2 may move, and return its signer."""
        signer = self.undeployed(owner, salt, amount)
        self.chain.send(FACTORY, self.chain.code("MockSmartAccountFactory", "createAccount", owner.address, salt))
        self.approve(signer.address, owner)
        return WalletSigner(signer.address, owner)

    def approve(self, account, owner, amount=2**256 - 1):
        """Let the owner of a deployed account approve Permit2 as the account."""
        call = self.chain.code("MockPaymentToken", "approve", PERMIT2, amount)
        return self.chain.send(account, self.execution(self.chain.token, call), owner)

    def execution(self, target, data):
        """Return the calldata by which an account calls a contract."""
        return self.chain.code("MockSmartAccount", "execute", target, data)

    def operation(self, account, owner, target, data, *, nonce):
        """Make a user operation: an account calls a contract."""
        words = (account, nonce, b"", self.execution(target, data), bytes(32), 0, bytes(32), b"")
        call = self.chain.code("MockEntryPoint", "getUserOpHash", (*words, b""))
        signed = owner.unsafe_sign_hash(self.chain.read(ENTRY_POINT, call))
        return (*words, bytes(signed.signature))

    def bundle(self, *operations, sender=BUNDLER):
        """Send operations in one transaction of the entry point, and return its receipt."""
        data = self.chain.code("MockEntryPoint", "handleOps", list(operations), sender.address)
        return self.chain.send(ENTRY_POINT, data, sender)
