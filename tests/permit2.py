"""x402's contracts at their canonical addresses on any chain of anvil, and payments that the real SDK signs and sends.

    chain = PaymentChain(url, project)
    buyer = chain.buyer()
    paid = chain.settle(chain.exact(buyer, seller.address, 1000))
    metered = chain.settle(chain.upto(buyer, seller.address, 5000), amount=1234)
    assert events(paid) == [("Transfer", buyer.address, seller.address, 1000), ("Settled",)]

Every transaction is signed by the key of its sender, so its input hashes to its hash.
"""

from __future__ import annotations

import json
import time

from eth_abi.abi import encode
from eth_account import Account
from eth_utils.address import to_checksum_address
from eth_utils.crypto import keccak
from x402.extensions.eip2612_gas_sponsoring.client import sign_eip2612_permit
from x402.mechanisms.evm import constants
from x402.mechanisms.evm.exact import ExactEvmClientScheme
from x402.mechanisms.evm.multicall import encode_contract_call
from x402.mechanisms.evm.signers import EthAccountSigner, EthAccountSignerWithRPC
from x402.mechanisms.evm.upto import UptoEvmClientScheme
from x402.schemas import PaymentRequirements

from bilateral.core.payments import ReceiptLog, contracts
from bilateral.core.payments.contracts import (
    BATCH,
    EIP3009_COLLECTOR,
    EXACT_PROXY,
    PERMIT2,
    PERMIT2_COLLECTOR,
    TRANSFER,
    UPTO_PROXY,
)
from simulation.event_chain import Node

MULTICALL = "0xcA11bde05977b3631167028862bE2a173976CA11"
TOKEN = to_checksum_address("0x70c3" + "00" * 17 + "01")
CONTRACTS = {
    PERMIT2: "MockPermit2",
    EXACT_PROXY: "MockExactProxy",
    UPTO_PROXY: "MockUptoProxy",
    BATCH: "MockChannels",
    EIP3009_COLLECTOR: "MockEip3009Collector",
    PERMIT2_COLLECTOR: "MockPermit2Collector",
    MULTICALL: "MockMulticall",
}
RELAYER = Account.from_key(keccak(text="relayer"))
"""Sends what anybody may send."""
FACILITATOR = Account.from_key(keccak(text="facilitator of upto"))
"""Settles payments of `upto`."""

WITNESS_TYPES = {EXACT_PROXY: constants.PERMIT2_WITNESS_TYPES, UPTO_PROXY: constants.UPTO_PERMIT2_WITNESS_TYPES}
SETTLE = {
    (False, False): constants.X402_EXACT_PERMIT2_PROXY_ABI,
    (False, True): constants.X402_EXACT_PERMIT2_PROXY_SETTLE_WITH_PERMIT_ABI,
    (True, False): constants.X402_UPTO_PERMIT2_PROXY_ABI,
    (True, True): constants.X402_UPTO_PERMIT2_PROXY_SETTLE_WITH_PERMIT_ABI,
}
"""The ABI of `settle`, by whether the scheme is `upto` and whether a permit of the token comes first."""

SECP256K1_ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
GAS = 5_000_000
GAS_PRICE = 10**10  # wei; above the base fee of a test's chain
INFINITE = 2**256 - 1
EVENTS = {
    keccak(text=signature): signature.partition("(")[0]
    for signature in (
        *("Settled()", "SettledWithPermit()", "Approval(address,address,uint256)"),
        *("AuthorizationUsed(address,bytes32)", "UnorderedNonceInvalidation(address,uint256,uint256)"),
        *("Deposited(bytes32,address,uint128,uint128)", "Claimed(bytes32,address,uint128,uint128)"),
        *("Settled(address,address,address,uint128)", "Refunded(bytes32,address,uint128)"),
        "UserOperationEvent(bytes32,address,address,uint256,bool,uint256,uint256)",
        *("WithdrawInitiated(bytes32,uint128,uint40)", "WithdrawFinalized(bytes32,address,uint128)"),
    )
} | {contracts.CHANNEL_CREATED: "ChannelCreated"}


class WalletSigner(EthAccountSigner):
    """Signs for a contract wallet by the key that the wallet follows (ERC-1271), or for any address, with no right."""

    def __init__(self, address, key):
        super().__init__(key)
        self._wallet = address

    @property
    def address(self):
        return self._wallet


def place_contracts(rpc, project):
    """Put all contracts at their canonical addresses on a chain of anvil.

    Args:
        rpc: Calls a method of JSON-RPC, as `EventChain.rpc` does.
        project: Ape's project.
    """
    for address, name in CONTRACTS.items():
        rpc("anvil_setCode", address, runtime_code(project, name))


def runtime_code(project, name):
    """Return the code of a contract without immutables."""
    return getattr(project, name).contract_type.runtime_bytecode.bytecode


class PaymentChain:
    """A chain of anvil with x402's contracts.

    Args:
        url: The URL of anvil. If it does not mine by itself, each sent transaction gets a block.
        project: Ape's project.
        token: A token that is there already; without it one is put at `TOKEN`.
    """

    def __init__(self, url, project, token=None):
        self.url, self.project = url, project
        self._abis = {}
        self.rpc = Node(url).rpc
        self.chain_id = int(self.rpc("eth_chainId"), 16)
        self.network = f"eip155:{self.chain_id}"
        place_contracts(self.rpc, project)
        self.token = token or self.put(TOKEN, "MockPaymentTokenWithPermit")

    # The chain

    def put(self, address, name):
        """Put a contract without immutables at an address, and return it in checksum form."""
        self.rpc("anvil_setCode", address, runtime_code(self.project, name))
        return to_checksum_address(address)

    def code(self, name, function, *arguments):
        """Encode a call of a function of a compiled contract."""
        if name not in self._abis:
            described = getattr(self.project, name).contract_type.model_dump_json(by_alias=True)
            self._abis[name] = json.loads(described)["abi"]
        return encode_contract_call(self._abis[name], function, *arguments)

    def deploy(self, name, *arguments, types=()):
        """Deploy a compiled contract, and return its address."""
        creation = getattr(self.project, name).contract_type.deployment_bytecode.bytecode
        receipt = self.send(None, bytes.fromhex(creation[2:]) + encode(types, arguments))
        return to_checksum_address(receipt["contractAddress"])

    def read(self, to, data):
        """Call a function without a transaction."""
        return bytes.fromhex(self.rpc("eth_call", {"to": to, "data": "0x" + data.hex()}, "latest")[2:])

    def send(self, to, data, sender=RELAYER, *, gas=GAS):
        """Send a transaction, and return its receipt as the node gives it."""
        return self.receipt(self.broadcast(to, data, sender, gas=gas))

    def broadcast(self, to, data, sender=RELAYER, *, gas=GAS):
        """Send a transaction without a block for it, and return its hash."""
        if int(self.rpc("eth_getBalance", sender.address, "latest"), 16) < gas * GAS_PRICE:
            self.rpc("anvil_setBalance", sender.address, hex(10**20))
        nonce = int(self.rpc("eth_getTransactionCount", sender.address, "pending"), 16)
        transaction = {"chainId": self.chain_id, "nonce": nonce, "gas": gas, "gasPrice": GAS_PRICE, "data": data}
        transaction |= {"to": to, "value": 0} if to else {"value": 0}
        signed = sender.sign_transaction(transaction).raw_transaction
        return self.rpc("eth_sendRawTransaction", "0x" + bytes(signed).hex())

    def receipt(self, transaction):
        """Return the receipt of a transaction, after a block for it if need be."""
        if not self.rpc("anvil_getAutomine"):
            self.rpc("evm_mine")
        while (receipt := self.rpc("eth_getTransactionReceipt", transaction)) is None:
            time.sleep(0.002)
        return receipt

    # Money

    def fund(self, address, amount=10**9, token=None):
        """Give tokens to an account."""
        return self.send(token or self.token, self.code("MockPaymentToken", "mint", address, amount))

    def approve(self, account, spender=PERMIT2, amount=INFINITE, token=None):
        """Let a spender move an account's tokens."""
        return self.send(token or self.token, self.code("MockPaymentToken", "approve", spender, amount), account)

    def buyer(self, amount=10**9):
        """Make an account with tokens that Permit2 may move."""
        account = Account.create()
        self.fund(account.address, amount)
        self.approve(account)
        return account

    def balance(self, address, token=None):
        return int.from_bytes(self.read(token or self.token, self.code("MockPaymentToken", "balanceOf", address)))

    # Payments

    def terms(self, scheme, payee, amount, *, token=None, timeout=600, **extra):
        """Make the requirements of a payment, as a server sends them. `extra` has at least the method by default."""
        named = {"name": "Test Dollar", "version": "2", "assetTransferMethod": "permit2", **extra}
        return PaymentRequirements(
            scheme=scheme,
            network=self.network,
            asset=token or self.token,
            amount=str(amount),
            pay_to=payee,
            max_timeout_seconds=timeout,
            extra={name: value for name, value in named.items() if value is not None},
        )

    def exact(self, payer, payee, amount, **changes):
        """Let the SDK sign a payment of `exact` by Permit2, and return its payload.

        Args:
            payer: An account, or a `WalletSigner`.
            payee: An address.
            amount: The amount.
            **changes: `token`, `timeout`; and parts of the authorization that the payer signs otherwise: `nonce`,
                `deadline`, `spender`, `valid_after`.
        """
        return self._signed(ExactEvmClientScheme, "exact", payer, payee, amount, **changes)

    def upto(self, payer, payee, ceiling, facilitator=FACILITATOR, **changes):
        """Let the SDK sign a payment of `upto`, and return its payload. Changes are those of `exact`."""
        changes["facilitatorAddress"] = getattr(facilitator, "address", facilitator)
        return self._signed(UptoEvmClientScheme, "upto", payer, payee, ceiling, **changes)

    def _signed(self, kind, scheme, payer, payee, amount, *, token=None, timeout=600, **changes):
        extra = {"facilitatorAddress": changes.pop("facilitatorAddress", None)}
        signer = payer if isinstance(payer, EthAccountSigner) else EthAccountSigner(payer)
        terms = self.terms(scheme, payee, amount, token=token, timeout=timeout, **extra)
        payload = kind(signer).create_payment_payload(terms)
        authorization = payload["permit2Authorization"]
        if "valid_after" in changes:
            authorization["witness"]["validAfter"] = str(changes.pop("valid_after"))
        authorization |= {name: value if name == "spender" else str(value) for name, value in changes.items()}
        return self.sign(signer, authorization) if changes or authorization["witness"]["validAfter"] != "0" else payload

    def sign(self, signer, authorization):
        """Sign an authorization of Permit2, whatever it says, and return the payload."""
        is_upto = "facilitator" in authorization["witness"]
        signer = signer if isinstance(signer, EthAccountSigner) else EthAccountSigner(signer)
        domain = {"name": "Permit2", "chainId": self.chain_id, "verifyingContract": PERMIT2}
        witness = authorization["witness"] | {"validAfter": int(authorization["witness"]["validAfter"])}
        permitted = authorization["permitted"] | {"amount": int(authorization["permitted"]["amount"])}
        message = {"permitted": permitted, "spender": authorization["spender"], "witness": witness}
        message |= {name: int(authorization[name]) for name in ("nonce", "deadline")}
        types = WITNESS_TYPES[UPTO_PROXY if is_upto else EXACT_PROXY]
        signature = signer.sign_typed_data(domain, types, "PermitWitnessTransferFrom", message)
        return {"signature": "0x" + signature.hex(), "permit2Authorization": authorization}

    def token_permit(self, account, amount, token=None):
        """Let the SDK sign a permit of the token for Permit2 (EIP-2612), as the tuple of `settleWithPermit`."""
        signer = EthAccountSignerWithRPC(account, self.url)
        deadline = str(int(time.time()) + 600)
        token = token or self.token
        info = sign_eip2612_permit(signer, token, "Test Dollar", "2", self.chain_id, deadline, str(amount))
        signature = bytes.fromhex(info.signature[2:])
        return int(info.amount), int(info.deadline), signature[:32], signature[32:64], signature[64]

    def call(self, payload, *, amount=None, permit=None):
        """Return (proxy, calldata) of the settlement of a payload.

        Args:
            payload: The payload of `exact` or `upto`.
            amount: What is charged of `upto`; by default the ceiling.
            permit: A `token_permit`, for `settleWithPermit`.
        """
        signed = payload["permit2Authorization"]
        permitted, witness = signed["permitted"], signed["witness"]
        is_upto = "facilitator" in witness
        ceiling = int(permitted["amount"])
        values = [(permitted["token"], ceiling), int(signed["nonce"]), int(signed["deadline"])]
        accounts = [witness["to"], *([witness["facilitator"]] if is_upto else [])]
        arguments = [
            *([permit] if permit else []),
            tuple(values),
            *([ceiling if amount is None else amount] if is_upto else []),
            signed["from"],
            (*accounts, int(witness["validAfter"])),
            bytes.fromhex(payload["signature"][2:]),
        ]
        name = "settleWithPermit" if permit else "settle"
        data = encode_contract_call(SETTLE[is_upto, permit is not None], name, *arguments)
        return UPTO_PROXY if is_upto else EXACT_PROXY, data

    def settle(self, payload, *, amount=None, permit=None, sender=None, suffix=b""):
        """Settle a payment by a call of its proxy, and return the receipt.

        Args:
            payload: The payload of `exact` or `upto`.
            amount: What is charged of `upto`; by default the ceiling.
            permit: A `token_permit`, for `settleWithPermit`.
            sender: The caller; by default `FACILITATOR` of `upto`, and `RELAYER` of `exact`.
            suffix: Bytes after the calldata, as builder codes are.
        """
        proxy, data = self.call(payload, amount=amount, permit=permit)
        return self.send(proxy, data + suffix, sender or (FACILITATOR if proxy == UPTO_PROXY else RELAYER))

    def multicall(self, *calls, sender=RELAYER, may_fail=False):
        """Make several calls (to, data) in one transaction of `MULTICALL`, which then is `msg.sender`."""
        entries = [(to, may_fail, data) for to, data in calls]
        gas = GAS + 100_000 * len(calls)
        return self.send(MULTICALL, self.code("MockMulticall", "aggregate3", entries), sender, gas=gas)

    def cancel(self, owner, nonce):
        """Let an owner cancel a nonce of Permit2."""
        word, mask = int(nonce) >> 8, 1 << (int(nonce) & 255)
        return self.send(PERMIT2, self.code("MockPermit2", "invalidateUnorderedNonces", word, mask), owner)

    def is_used(self, owner, nonce):
        """Return True if a nonce of Permit2 was used or cancelled."""
        bits = int.from_bytes(self.read(PERMIT2, self.code("MockPermit2", "nonceBitmap", owner, int(nonce) >> 8)))
        return bool(bits >> (int(nonce) & 255) & 1)


def compact(signature):
    """Return the form in 64 bytes of a signature in hexadecimal digits (EIP-2098)."""
    r, s, v = _parts(signature)
    return "0x" + (r + (s | (v - 27) << 255).to_bytes(32)).hex()


def with_high_s(signature):
    """Return the second signature of the same message."""
    r, s, v = _parts(signature)
    return "0x" + (r + (SECP256K1_ORDER - s).to_bytes(32) + bytes([55 - v])).hex()


def _parts(signature):
    content = bytes.fromhex(signature[2:])
    return content[:32], int.from_bytes(content[32:64]), content[64]


def logs_of(receipt):
    """Return the logs of a receipt as the kernel reads them."""
    return [
        ReceiptLog(
            int(log["logIndex"], 16),
            to_checksum_address(log["address"]),
            tuple(bytes.fromhex(topic[2:]) for topic in log["topics"]),
            bytes.fromhex(log["data"][2:]),
        )
        for log in receipt["logs"]
    ]


def events(receipt):
    """Return the logs of a receipt in short: transfers as ("Transfer", from, to, value), others as (name,)."""
    short = []
    for log in logs_of(receipt):
        if log.topics[0] == TRANSFER:
            sender, receiver = (to_checksum_address(topic[12:]) for topic in log.topics[1:])
            short.append(("Transfer", sender, receiver, int.from_bytes(log.data)))
        else:
            short.append((EVENTS[log.topics[0]],))
    return short
