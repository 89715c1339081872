"""EIP-7702 delegations by real transactions: an account signs an authorisation, and anybody sends it."""

from __future__ import annotations

from eth_account import Account


def delegate(web3, account, code, sponsor):
    """Have an account run the code of a contract from now on.

    Args:
        web3: The node.
        account: The account, of Ape or eth-account, which signs the authorisation.
        code: The address of the contract; the zero address ends the delegation.
        sponsor: The account that sends the transaction and pays.
    """
    authorization = Account.sign_authorization(
        {
            "chainId": web3.eth.chain_id,
            "address": str(code),
            "nonce": web3.eth.get_transaction_count(account.address),
        },
        _key(account),
    )
    transaction = {
        "chainId": web3.eth.chain_id,
        "nonce": web3.eth.get_transaction_count(sponsor.address),
        "to": sponsor.address,
        "value": 0,
        "gas": 100_000,
        "maxFeePerGas": 2 * web3.eth.gas_price,
        "maxPriorityFeePerGas": 0,
        "authorizationList": [authorization],
    }
    signed = Account.sign_transaction(transaction, _key(sponsor))
    receipt = web3.eth.wait_for_transaction_receipt(web3.eth.send_raw_transaction(signed.raw_transaction))
    assert receipt["status"] == 1
    designator = b"" if not int(str(code), 16) else bytes.fromhex("ef0100" + str(code)[2:])
    assert web3.eth.get_code(account.address) == designator


def _key(account):
    """Return the key of an account of Ape or eth-account."""
    return getattr(account, "private_key", None) or account.key
