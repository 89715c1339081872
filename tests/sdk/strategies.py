"""Hypothesis strategies for the identifiers."""

from __future__ import annotations

import libipld
from eth_utils.address import to_checksum_address
from hypothesis import strategies as st

from bilateral.core.identifiers import AccountId, AgentId, ChainId, FeedbackId, GlobalAgentId, TransactionRef

EVM_ADDRESS = "0x8004A169FB4a3325136EB29fA0ceB6D2e539a432"

_BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"


def base58(length):
    """Draw a number of bytes in base 58, including leading zeros."""
    return st.binary(min_size=length, max_size=length).map(lambda data: libipld.encode_multibase("z", data)[1:])


def addresses():
    return st.binary(min_size=20, max_size=20).map(to_checksum_address)


def evm_chains():
    return st.integers(1, 2**64).map(ChainId.evm)


def solana_chains():
    return st.text(_BASE58, min_size=32, max_size=32).map(lambda reference: ChainId("solana", reference))


def chain_ids():
    return evm_chains() | solana_chains()


def account_ids():
    return st.builds(AccountId, evm_chains(), addresses()) | st.builds(AccountId, solana_chains(), base58(32))


def transaction_refs():
    hashes = st.binary(min_size=32, max_size=32).map(lambda data: "0x" + data.hex())
    return st.builds(TransactionRef, evm_chains(), hashes) | st.builds(TransactionRef, solana_chains(), base58(64))


def agent_ids(*, with_chain=False):
    chains = st.integers(1, 2**64)
    return st.builds(AgentId, st.integers(0, 2**256 - 1), chains if with_chain else st.none() | chains)


def global_agent_ids():
    evm = st.builds(GlobalAgentId, st.builds(AccountId, evm_chains(), addresses()), st.integers(0, 2**256 - 1).map(str))
    return evm | st.builds(GlobalAgentId, st.builds(AccountId, solana_chains(), base58(32)), base58(32))


def feedback_ids(*, with_chain=False):
    return st.builds(FeedbackId, agent_ids(with_chain=with_chain), addresses(), st.integers(1, 2**64 - 1))
