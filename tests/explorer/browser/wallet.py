"""A wallet for pages under test: it announces itself by EIP-6963, and signs with keys of eth-account."""

from __future__ import annotations

import json

import httpx
from eth_account import Account
from eth_account.messages import encode_defunct

REJECTED = {"code": 4001, "message": "User rejected the request."}

_ANNOUNCE = """([names, icon]) => {
  for (const name of names) {
    const request = async ({ method, params = [] }) => {
      const answer = await globalThis.walletRequest(name, method, params);
      if (answer.error) throw Object.assign(new Error(answer.error.message), answer.error);
      return answer.result;
    };
    const info = { uuid: `uuid-${name}`, name, icon, rdns: "test" };
    const detail = Object.freeze({ info, provider: { request, on() {} } });
    const announce = () => dispatchEvent(new CustomEvent("eip6963:announceProvider", { detail }));
    addEventListener("eip6963:requestProvider", announce);
    announce();
  }
}"""
_ICON = "data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg'/>"


class Wallet:
    """A wallet with some accounts on a node.

    Args:
        url: The node that it uses.
        *accounts: Its accounts, the chosen one first.
        name: The name under which it announces itself.

    Attributes:
        chain: The chain that it says; None for that of its node.
        write_chain: Writes a chain's id as this wallet does.
        errors: The errors with which it answers methods.
        known: The chains that it can switch to.
        rejects: The methods that its user rejects.
        sends_as: The account that sends, whatever the page asks for; None for the right one.
        asked: The methods that pages called.
        sent: The hashes of the transactions that it sent.
    """

    def __init__(self, url, *accounts, name="Test wallet"):
        self.url, self.accounts, self.name = url, {account.address: account for account in accounts}, name
        self.chain, self.known, self.rejects, self.sends_as = None, {31337}, set(), None
        self.asked, self.sent = [], []
        self.write_chain, self.errors = hex, {}

    def request(self, method, parameters):
        """Answer a page."""
        self.asked.append(method)
        if method in self.rejects:
            return {"error": REJECTED}
        if method in self.errors:
            return {"error": self.errors[method]}
        handle = getattr(self, f"_{method}", None)
        return self._node(method, parameters) if handle is None else handle(*parameters)

    def _node(self, method, parameters):
        call = {"jsonrpc": "2.0", "id": 1, "method": method, "params": parameters}
        answer = httpx.post(self.url, json=call, timeout=60).json()
        return {name: answer[name] for name in ("result", "error") if name in answer}

    def _eth_requestAccounts(self):  # noqa: N802  # the method's name
        return {"result": list(self.accounts)}

    def _eth_chainId(self):  # noqa: N802
        chain = int(self._node("eth_chainId", [])["result"], 16) if self.chain is None else self.chain
        return {"result": self.write_chain(chain)}

    def _wallet_switchEthereumChain(self, wanted):  # noqa: N802
        chain = int(wanted["chainId"], 16)
        if chain not in self.known:
            return {"error": {"code": 4902, "message": "Unrecognized chain ID"}}
        self.chain = chain
        return {"result": None}

    def _eth_sendTransaction(self, transaction):  # noqa: N802
        account = self.sends_as or self.accounts[transaction["from"]]
        nonce = self._node("eth_getTransactionCount", [account.address, "pending"])["result"]
        fees = {"maxFeePerGas": 10**10, "maxPriorityFeePerGas": 10**9, "chainId": 31337, "nonce": int(nonce, 16)}
        fields = {name: transaction[name] for name in ("to", "data", "value", "gas")}
        answer = self._node(
            "eth_sendRawTransaction", [account.sign_transaction({**fields, **fees}).raw_transaction.to_0x_hex()]
        )
        if "result" in answer:
            self.sent.append(answer["result"])
        return answer

    def replace(self, hash_):
        """Replace a pending transaction by one that does nothing, for a higher fee."""
        pending = self._node("eth_getTransactionByHash", [hash_])["result"]
        account = next(known for known in self.accounts.values() if known.address.lower() == pending["from"])
        fees = {"maxFeePerGas": 2 * 10**10, "maxPriorityFeePerGas": 2 * 10**9, "chainId": 31337, "gas": 21_000}
        fields = {"to": account.address, "value": 0, "nonce": int(pending["nonce"], 16)}
        raw = account.sign_transaction({**fields, **fees}).raw_transaction.to_0x_hex()
        self._node("eth_sendRawTransaction", [raw])

    def _personal_sign(self, message, account):
        signed = Account.sign_message(encode_defunct(hexstr=message), self.accounts[account].key)
        return {"result": signed.signature.to_0x_hex()}

    def _eth_signTypedData_v4(self, account, text):  # noqa: N802
        signed = Account.sign_typed_data(self.accounts[account].key, full_message=json.loads(text))
        return {"result": signed.signature.to_0x_hex()}


def install(context, *wallets):
    """Install wallets into a browser's context, as extensions do."""
    by_name = {wallet.name: wallet for wallet in wallets}
    context.expose_binding(
        "walletRequest", lambda _, name, method, parameters: by_name[name].request(method, parameters)
    )
    context.add_init_script(f"({_ANNOUNCE})({json.dumps([list(by_name), _ICON])})")
