"""What buyers sign and what is sent to the chain, written from the protocol's documents, not with the package."""

from __future__ import annotations

import coincurve
import rlp
from eth_abi import encode
from eth_utils.address import to_checksum_address
from eth_utils.crypto import keccak

CHAIN_ID = 31337
PERMIT2 = "0x000000000022D473030F116dDEE9F6B43aC78BA3"
EXACT = "0x402085c248EeA27D92E8b30b2C58ed07f9E20001"
UPTO = "0x4020A4f3b7b90ccA423B9fabCc0CE57C6C240002"
CHANNELS = "0x4020074e9dF2ce1deE5A9C1b5c3f541D02a10003"
EIP3009_COLLECTOR = "0x4020806089470a89826cB9fB1f4059150b550004"
PERMIT2_COLLECTOR = "0x4020425FAf3B746C082C2f942b4E5159887B0005"
ROUTER = "0xcA11bde05977b3631167028862bE2a173976CA11"
RETIRED_PROXY = "0x402039b3d6E6BEC5A02c2C9fd937ac17A6940002"
ESCROW_COLLECTORS = ("0x8612dfdc421f80336cd14E8EF9cb1E765dB5ab88", "0xD69831Aed5bfe262067ec4c751f4F830EcdD446e")

_GAS, _GAS_PRICE = 1_500_000, 10**10  # above the base fee

_ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141

_DOMAIN = "EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"
_DOMAIN_WITHOUT_VERSION = "EIP712Domain(string name,uint256 chainId,address verifyingContract)"
_TRANSFER = (
    "TransferWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,"
    "bytes32 nonce)"
)
_PERMITTED = "TokenPermissions(address token,uint256 amount)"
_PERMIT = "(TokenPermissions permitted,address spender,uint256 nonce,uint256 deadline"
_WITNESSES = {
    EXACT: "Witness(address to,uint256 validAfter)",
    UPTO: "Witness(address to,address facilitator,uint256 validAfter)",
}
_CONFIG = (
    "ChannelConfig(address payer,address payerAuthorizer,address receiver,address receiverAuthorizer,address token,"
    "uint40 withdrawDelay,bytes32 salt)"
)


class Account:
    """A key and its address, which is also that of the account that sends transactions: `key_holder`."""

    def __init__(self, name):
        self.key = coincurve.PrivateKey(keccak(text=name))
        self.address = to_checksum_address(keccak(self.key.public_key.format(compressed=False)[1:])[-20:])
        self.key_holder = self.address

    def sign(self, digest):
        """Return a signature of 65 bytes."""
        signed = self.key.sign_recoverable(digest, hasher=None)
        return signed[:64] + bytes([27 + signed[64]])

    def transaction(self, nonce, to, data):
        """Sign a transaction, in its oldest form (EIP-155) or the usual one (EIP-1559), and return its bytes."""
        call = bytes.fromhex(to[2:]), 0, data
        if nonce % 2:
            fields = [CHAIN_ID, nonce, 1, _GAS_PRICE, _GAS, *call, []]
            signature = self.sign(keccak(b"\x02" + rlp.encode(fields)))
            return b"\x02" + rlp.encode([*fields, signature[64] - 27, *_halves(signature)])
        fields = [nonce, _GAS_PRICE, _GAS, *call]
        signature = self.sign(keccak(rlp.encode([*fields, CHAIN_ID, 0, 0])))
        return rlp.encode([*fields, CHAIN_ID * 2 + 8 + signature[64], *_halves(signature)])


class Wallet(Account):
    """A contract wallet that follows a key (ERC-1271)."""

    def __init__(self, name, address):
        super().__init__(name)
        self.key_holder, self.address = self.address, address

    def transaction(self, nonce, to, data):
        return super().transaction(nonce, self.address, call("execute(address,bytes)", to, data))


def _halves(signature):
    return int.from_bytes(signature[:32]), int.from_bytes(signature[32:64])


def word(value):
    """Return a number, an address or up to 32 bytes as a word."""
    if isinstance(value, str):
        return bytes.fromhex(value[2:]).rjust(32, b"\0")
    return value.to_bytes(32) if isinstance(value, int) else value.rjust(32, b"\0")


def struct(kind, *values):
    """Return the hash of a struct (EIP-712), whose fields are words or hashes."""
    return keccak(keccak(text=kind) + b"".join(map(word, values)))


def digest(domain, message):
    return keccak(b"\x19\x01" + domain + message)


def token_domain(token):
    return struct(_DOMAIN, keccak(text="Test Dollar"), keccak(text="2"), CHAIN_ID, token)


def permit2_domain():
    return struct(_DOMAIN_WITHOUT_VERSION, keccak(text="Permit2"), CHAIN_ID, PERMIT2)


def signed_transfer(buyer, token, to, value, valid_before, nonce, kind=_TRANSFER):
    """Sign an authorization (EIP-3009)."""
    return buyer.sign(digest(token_domain(token), struct(kind, buyer.address, to, value, 0, valid_before, nonce)))


def signed_permit(buyer, token, amount, spender, nonce, deadline, *witness):
    """Sign a permit of Permit2 for a proxy, whose witness is (to, validAfter) or (to, facilitator, validAfter)."""
    types = _WITNESSES[spender]
    kind = f"PermitWitnessTransferFrom{_PERMIT},Witness witness){_PERMITTED}{types}"
    fields = struct(_PERMITTED, token, amount), spender, nonce, deadline, struct(types, *witness)
    return buyer.sign(digest(permit2_domain(), struct(kind, *fields)))


def signed_bare_permit(buyer, token, amount, spender, nonce, deadline):
    """Sign a permit of Permit2 without a witness."""
    kind = f"PermitTransferFrom{_PERMIT}){_PERMITTED}"
    fields = struct(_PERMITTED, token, amount), spender, nonce, deadline
    return buyer.sign(digest(permit2_domain(), struct(kind, *fields)))


def compact(signature):
    """Return a signature in its short form, of 64 bytes."""
    s = int.from_bytes(signature[32:64]) | (signature[64] - 27) << 255
    return signature[:32] + s.to_bytes(32)


def twin(signature):
    """Return the other signature of the same message, with a high `s`."""
    return signature[:32] + (_ORDER - int.from_bytes(signature[32:64])).to_bytes(32) + bytes([55 - signature[64]])


def call(signature, *arguments):
    """Encode a call of a function."""
    types = _top_level(signature[signature.index("(") + 1 : -1])
    return keccak(text=signature)[:4] + encode(types, arguments)


def _top_level(types):
    parts, depth = [""], 0
    for sign in types:
        depth += (sign == "(") - (sign == ")")
        if sign == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += sign
    return [part for part in parts if part]


_SIGNED = "((address,uint256),uint256,uint256)"
_EIP2612 = "(uint256,uint256,bytes32,bytes32,uint8)"


def transfer_by_signature(buyer, to, value, valid_before, nonce, signature):
    name = "transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,bytes)"
    return call(name, buyer.address, to, value, 0, valid_before, nonce, signature)


def settle_exact(token, amount, nonce, deadline, owner, to, signature, *, with_permit=False):
    arguments = ((token, amount), nonce, deadline), owner, (to, 0), signature
    if with_permit:
        name = f"settleWithPermit({_EIP2612},{_SIGNED},address,(address,uint256),bytes)"
        return call(name, _used_permit(amount, deadline), *arguments)
    return call(f"settle({_SIGNED},address,(address,uint256),bytes)", *arguments)


def settle_upto(token, ceiling, nonce, deadline, amount, owner, to, facilitator, signature, *, with_permit=False):
    arguments = ((token, ceiling), nonce, deadline), amount, owner, (to, facilitator, 0), signature
    types = "uint256,address,(address,address,uint256),bytes"
    if with_permit:
        return call(f"settleWithPermit({_EIP2612},{_SIGNED},{types})", _used_permit(ceiling, deadline), *arguments)
    return call(f"settle({_SIGNED},{types})", *arguments)


def _used_permit(amount, deadline):
    """Return a permit of the token that fails, which does not matter where Permit2 has an allowance."""
    return amount, deadline, b"\x01" * 32, b"\x02" * 32, 27


def routed(*calls):
    """Encode calls in one transaction, each of which may fail."""
    return call("aggregate3((address,bool,bytes)[])", [(target, True, data) for target, data in calls])


def emitted(*logs):
    """Encode logs for `MockLogEmitter`."""
    return call("emitLogs((bytes32[],bytes)[])", list(logs))


class Channel:
    """A channel of x402's scheme `batch-settlement`."""

    def __init__(self, payer, receiver, token, salt, authorizer=None):
        self.payer, self.signer = payer, authorizer or payer
        zero = "0x" + "00" * 20
        delegate = zero if authorizer is None else authorizer.address
        self.config = (payer.address, delegate, receiver, receiver, token, 900, salt)
        domain = struct(_DOMAIN, keccak(text="x402 Batch Settlement"), keccak(text="1"), CHAIN_ID, CHANNELS)
        self._domain = domain
        self.id = digest(domain, struct(_CONFIG, *self.config))

    def voucher(self, most):
        """Sign a voucher: the most that may be claimed in total."""
        message = struct("Voucher(bytes32 channelId,uint128 maxClaimableAmount)", self.id, most)
        return self.signer.sign(digest(self._domain, message))

    def claim(self, most, total):
        """Return a claim by a voucher, for `claimed`."""
        return (self.config, most), self.voucher(most), total


_TUPLE = "(address,address,address,address,address,uint40,bytes32)"


def deposited(channel, amount, collector, data):
    return call(f"deposit({_TUPLE},uint128,address,bytes)", channel.config, amount, collector, data)


def deposit_by_eip3009(channel, amount, salt, valid_before):
    """Return what `EIP3009_COLLECTOR` needs to take a deposit from the payer."""
    nonce = keccak(channel.id + word(salt))
    kind = _TRANSFER.replace("Transfer", "Receive", 1)
    to, token = EIP3009_COLLECTOR, channel.config[4]
    signature = signed_transfer(channel.payer, token, to, amount, valid_before, nonce, kind)
    return encode(["uint256", "uint256", "uint256", "bytes"], [0, valid_before, salt, signature])


def deposit_by_permit2(channel, amount, nonce, deadline):
    """Return what `PERMIT2_COLLECTOR` needs to take a deposit from the payer."""
    witness = "DepositWitness(bytes32 channelId)"
    kind = f"PermitWitnessTransferFrom{_PERMIT},DepositWitness witness){witness}{_PERMITTED}"
    permitted = struct(_PERMITTED, channel.config[4], amount)
    fields = permitted, PERMIT2_COLLECTOR, nonce, deadline, struct(witness, channel.id)
    signature = channel.payer.sign(digest(permit2_domain(), struct(kind, *fields)))
    return encode(["uint256", "uint256", "bytes", "bytes"], [nonce, deadline, signature, b""])


def claimed(*claims):
    return call(f"claim((({_TUPLE},uint128),bytes,uint128)[])", list(claims))


def swept(receiver, token):
    return call("settle(address,address)", receiver, token)


def refunded(channel, amount):
    return call(f"refund({_TUPLE},uint128)", channel.config, amount)
