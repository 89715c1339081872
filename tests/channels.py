"""Channels of `batch-settlement` on a `PaymentChain`: vouchers and deposits that the real SDK signs.

A seller claims what a buyer paid in and signed for:

config = channel(chain, buyer, seller.address)
deposit(chain, config, 5000, buyer)
claim(chain, (config, 700, buyer), sender=seller)
settle_claims(chain, seller.address)
"""

from __future__ import annotations

from eth_abi.abi import encode
from x402.mechanisms.evm.batch_settlement.abi import BATCH_SETTLEMENT_ABI
from x402.mechanisms.evm.batch_settlement.client.eip3009 import create_batch_settlement_eip3009_deposit_payload
from x402.mechanisms.evm.batch_settlement.client.permit2 import create_batch_settlement_permit2_deposit_payload
from x402.mechanisms.evm.batch_settlement.client.voucher import sign_voucher
from x402.mechanisms.evm.batch_settlement.encoding import build_erc3009_collector_data, build_permit2_collector_data
from x402.mechanisms.evm.batch_settlement.types import ChannelConfig
from x402.mechanisms.evm.batch_settlement.utils import compute_channel_id
from x402.mechanisms.evm.multicall import encode_contract_call
from x402.mechanisms.evm.signers import EthAccountSigner

from bilateral.core.payments.contracts import BATCH, EIP3009_COLLECTOR, PERMIT2_COLLECTOR
from tests.permit2 import RELAYER

NOBODY = "0x" + "00" * 20
SPONSOR_COLLECTOR = "0x5e0000000000000000000000000000000000C011"
"""A collector of nobody's list: it takes the money from a sponsor, whoever the channel says pays."""


def channel(chain, payer, receiver, *, authorizer=None, receiver_authorizer=None, salt=0, delay=900, token=None):
    """Make the terms of a channel.

    Args:
        chain: The `PaymentChain`.
        payer: The account that pays, or its address.
        receiver: The address that is paid.
        authorizer: The account that signs vouchers; by default the payer signs, by ERC-1271 if it is a contract.
        receiver_authorizer: The address that may claim beside the receiver; by default the receiver.
        salt: A number that tells channels of the same parties apart.
        delay: The seconds that a withdrawal takes.
        token: The token; by default the chain's.
    """
    return ChannelConfig(
        payer=_address(payer),
        payer_authorizer=_address(authorizer) if authorizer else NOBODY,
        receiver=receiver,
        receiver_authorizer=receiver_authorizer or receiver,
        token=token or chain.token,
        withdraw_delay=delay,
        salt="0x" + salt.to_bytes(32).hex(),
    )


def channel_id(chain, config):
    """Return the id of a channel, 32 bytes, as the SDK computes it."""
    return bytes.fromhex(compute_channel_id(config, chain.network)[2:])


def deposit_call(chain, config, amount, signer, method="permit2"):
    """Return (contract, calldata) of a deposit that the payer signs, by `permit2` or `eip3009`."""
    signer = signer if isinstance(signer, EthAccountSigner) else EthAccountSigner(signer)
    terms = chain.terms("batch-settlement", config.receiver, amount, token=config.token, assetTransferMethod=method)
    if method == "permit2":
        payload = create_batch_settlement_permit2_deposit_payload(signer, terms, config, amount, 0)
        signed = payload.deposit.authorization.permit2_authorization
        data = build_permit2_collector_data(signed.nonce, signed.deadline, signed.signature)
        return _call("deposit", words_of(config), amount, PERMIT2_COLLECTOR, data)
    payload = create_batch_settlement_eip3009_deposit_payload(signer, terms, config, amount, 0)
    signed = payload.deposit.authorization.erc3009_authorization
    data = build_erc3009_collector_data(signed.valid_after, signed.valid_before, signed.salt, signed.signature)
    return _call("deposit", words_of(config), amount, EIP3009_COLLECTOR, data)


def deposit(chain, config, amount, signer, method="permit2", sender=RELAYER):
    """Pay into a channel by the payer's signature, and return the receipt."""
    return chain.send(*deposit_call(chain, config, amount, signer, method), sender)


def sponsor_call(chain, config, amount, sponsor):
    """Return (contract, calldata) of a deposit in the name of a payer who signs nothing, with a sponsor's money."""
    chain.put(SPONSOR_COLLECTOR, "MockSponsorCollector")
    chain.approve(sponsor, SPONSOR_COLLECTOR, token=config.token)
    return _call("deposit", words_of(config), amount, SPONSOR_COLLECTOR, encode(["address"], [sponsor.address]))


def sponsor_deposit(chain, config, amount, sponsor):
    """Make such a deposit, and return the receipt."""
    return chain.send(*sponsor_call(chain, config, amount, sponsor), sponsor)


def claim_call(chain, *claims):
    """Return (contract, calldata) of claims (config, total, signer of the voucher)."""
    entries = []
    for config, total, account in claims:
        signer = account if isinstance(account, EthAccountSigner) else EthAccountSigner(account)
        voucher = sign_voucher(signer, compute_channel_id(config, chain.network), total, chain.network)
        signature = bytes.fromhex(voucher.signature[2:])
        entries.append(((words_of(config), total), signature, total))
    return _call("claim", entries)


def claim(chain, *claims, sender):
    """Claim totals (config, total, signer of the voucher) as the receiver's side, and return the receipt."""
    return chain.send(*claim_call(chain, *claims), sender, gas=5_000_000 + 100_000 * len(claims))


def settle_claims(chain, receiver, token=None):
    """Pay a receiver what it claimed from all channels, and return the receipt."""
    return chain.send(*_call("settle", receiver, token or chain.token))


def refund(chain, config, amount, sender):
    """Pay back what was not claimed, as the receiver's side, and return the receipt."""
    return chain.send(*_call("refund", words_of(config), amount), sender)


def withdraw(chain, config, amount, payer):
    """Announce a withdrawal, let its time pass, and return both receipts."""
    announced = chain.send(*_call("initiateWithdraw", words_of(config), amount), payer)
    chain.rpc("evm_increaseTime", config.withdraw_delay)
    return announced, chain.send(*_call("finalizeWithdraw", words_of(config)))


def batch(chain, *calls, sender):
    """Make several calls (contract, calldata) of the contract of channels in one transaction of its `multicall`."""
    return chain.send(*_call("multicall", [data for _, data in calls]), sender, gas=15_000_000)


def _address(account):
    return account if isinstance(account, str) else account.address


def words_of(config):
    """Return the terms of a channel as the tuple of the contract."""
    words = config.to_dict()
    return (*(words[name] for name in list(words)[:-1]), bytes.fromhex(config.salt[2:]))


def _call(function, *arguments):
    return BATCH, encode_contract_call(BATCH_SETTLEMENT_ABI, function, *arguments)
