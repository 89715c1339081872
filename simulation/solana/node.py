"""A node of Solana for tests: LiteSVM behind HTTP, with the answers and the errors that real nodes give."""

from __future__ import annotations

import base64
import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from solders.litesvm import LiteSVM
from solders.pubkey import Pubkey
from solders.transaction import VersionedTransaction
from solders.transaction_metadata import FailedTransactionMetadata

from bilateral.core.errors.solana import MalformedAccountError
from bilateral.core.identifiers.caip import base58_text
from bilateral.solana.addresses import TOKEN_PROGRAMS
from bilateral.solana.token2022 import TokenAccount
from simulation.serving import serve_in_thread

GENESIS = "5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d"
OLDER_SLOT = -32016  # `JSON_RPC_SERVER_ERROR_MIN_CONTEXT_SLOT_NOT_REACHED` of Agave


class NodeProblem(Exception):  # noqa: N818  # an answer of JSON-RPC
    """An error of JSON-RPC."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


class Node:
    """A chain, its past transactions, and the methods of JSON-RPC over them.

    Attributes:
        instead: Functions by method, that a test puts in the place of an answer: they get it and return another.
        requests: The method of each request.
        final_lag: The number of latest slots that are confirmed and not finalized.
    """

    def __init__(self):
        self.vm = LiteSVM.default().with_lamports(10**18).with_sysvars().with_builtins().with_default_programs()
        self.vm.with_sigverify(True).with_blockhash_check(False).with_transaction_history(0)
        self.history, self.instead, self.requests = {}, {}, []
        self.final_lag, self.slot, self.genesis, self.first = 0, 100, GENESIS, 0
        self.lock = threading.RLock()
        self._set_time()

    def _set_time(self):
        clock = self.vm.get_clock()
        clock.slot, clock.unix_timestamp = self.slot, self.time_of(self.slot)
        self.vm.set_clock(clock)

    def time_of(self, slot):
        return 1_790_000_000 + slot

    def next_slot(self, slots=1):
        """Let slots pass."""
        with self.lock:
            self.slot += slots
            self._set_time()

    def send(self, transaction):
        """Run a transaction, keep it with its outcome, and let a slot pass."""
        with self.lock:
            keys = [str(key) for key in transaction.message.account_keys]
            before = self._balances(keys)
            outcome = self.vm.send_transaction(transaction)
            error = None
            if isinstance(outcome, FailedTransactionMetadata):
                error = json.loads(outcome.to_json())["err"]
                if not isinstance(error, dict):  # it never got into a block
                    raise NodeProblem(-32002, f"Transaction simulation failed: {error}")
                outcome = outcome.meta()
            inner = [
                {
                    "index": index,
                    "instructions": [
                        {
                            "programIdIndex": member.instruction().program_id_index,
                            "accounts": list(member.instruction().accounts),
                            "data": base58_text(bytes(member.instruction().data)),
                        }
                        for member in group
                    ],
                }
                for index, group in enumerate(outcome.inner_instructions())
                if group
            ]
            signature = str(transaction.signatures[0])
            meta = {
                "err": error,
                "fee": 5000,
                "preTokenBalances": before,
                "postTokenBalances": self._balances(keys),
                "innerInstructions": inner,
                "loadedAddresses": {"writable": [], "readonly": []},
                "status": {"Ok": None} if error is None else {"Err": error},
            }
            self.history[signature] = {
                "slot": self.slot,
                "blockTime": self.time_of(self.slot),
                "transaction": [base64.b64encode(bytes(transaction)).decode(), "base64"],
                "meta": meta,
                "version": 0,
                "keys": keys,
            }
            self.next_slot()
            return signature

    def _balances(self, keys):
        balances = []
        for index, key in enumerate(keys):
            account = self.vm.get_account(Pubkey.from_string(key))
            if account is None or str(account.owner) not in TOKEN_PROGRAMS:
                continue
            try:
                held = TokenAccount.of(bytes(account.data))
            except MalformedAccountError:
                continue
            if held.state == 0:
                continue
            amount = {"amount": str(held.amount), "decimals": 6, "uiAmount": None, "uiAmountString": "0"}
            balances.append(
                {
                    "accountIndex": index,
                    "mint": held.mint,
                    "owner": held.owner,
                    "programId": str(account.owner),
                    "uiTokenAmount": amount,
                }
            )
        return balances

    def answer(self, method, parameters):
        """Answer a request, or do what a test has put in the place of the answer."""
        self.requests.append(method)
        with self.lock:
            options = parameters[-1] if parameters and isinstance(parameters[-1], dict) else {}
            if (options.get("minContextSlot") or 0) > self.slot:
                raise NodeProblem(OLDER_SLOT, "Minimum context slot has not been reached")
            result = getattr(self, re.sub("([A-Z])", lambda value: "_" + value[1].lower(), f"_{method}"))(
                parameters, options
            )
        change = self.instead.get(method)
        return result if change is None else change(result)

    def _context(self, value):
        return {"context": {"slot": self.slot, "apiVersion": "2.3.0"}, "value": value}

    def _account(self, key):
        account = self.vm.get_account(Pubkey.from_string(key))
        if account is None or (not account.lamports and not account.data):
            return None
        return {
            "data": [base64.b64encode(bytes(account.data)).decode(), "base64"],
            "owner": str(account.owner),
            "lamports": account.lamports,
            "executable": account.executable,
            "rentEpoch": 0,
            "space": len(account.data),
        }

    def _get_genesis_hash(self, *_):
        return self.genesis

    def _get_account_info(self, parameters, _):
        return self._context(self._account(parameters[0]))

    def _get_multiple_accounts(self, parameters, _):
        return self._context([self._account(key) for key in parameters[0]])

    def _get_token_largest_accounts(self, parameters, _):
        holders = {key for entry in self.history.values() for key in entry["keys"]}
        balances = [balance | {"address": key} for key in sorted(holders) for balance in self._balances([key])]
        balances = [
            entry for entry in balances if entry["mint"] == parameters[0] and entry["uiTokenAmount"]["amount"] != "0"
        ]
        return self._context([{"address": entry["address"], **entry["uiTokenAmount"]} for entry in balances])

    def _get_minimum_balance_for_rent_exemption(self, parameters, _):
        return self.vm.minimum_balance_for_rent_exemption(parameters[0])

    def _get_slot(self, *_):
        return self.slot

    def _get_first_available_block(self, *_):
        return self.first

    def _get_block_time(self, parameters, _):
        return self.time_of(parameters[0])

    def _get_blocks_with_limit(self, parameters, _):
        odd = [slot for slot in range(parameters[0], self.slot + 1) if slot % 2]  # each second slot is skipped
        return odd[: parameters[1]]

    def _get_latest_blockhash(self, *_):
        return self._context({"blockhash": str(self.vm.latest_blockhash()), "lastValidBlockHeight": self.slot + 150})

    def _is_blockhash_valid(self, parameters, _):
        return self._context(parameters[0] == str(self.vm.latest_blockhash()))

    def _simulate_transaction(self, parameters, _):
        transaction = VersionedTransaction.from_bytes(base64.b64decode(parameters[0]))
        outcome = self.vm.simulate_transaction(transaction)
        error = json.loads(outcome.to_json())["err"] if isinstance(outcome, FailedTransactionMetadata) else None
        return self._context({"err": error, "logs": [], "accounts": None, "unitsConsumed": 1, "returnData": None})

    def _send_transaction(self, parameters, _):
        return self.send(VersionedTransaction.from_bytes(base64.b64decode(parameters[0])))

    def _get_signature_statuses(self, parameters, _):
        return self._context([self._status(signature) for signature in parameters[0]])

    def _status(self, signature):
        entry = self.history.get(signature)
        if entry is None:
            return None
        fields = {"slot": entry["slot"], "confirmations": None, "confirmationStatus": "confirmed"}
        return fields | {"err": entry["meta"]["err"], "status": entry["meta"]["status"]}

    def _get_transaction(self, parameters, options):
        entry = self.history.get(parameters[0])
        if entry is None or (options["commitment"] == "finalized" and entry["slot"] > self.slot - self.final_lag):
            return None
        if "maxSupportedTransactionVersion" not in options:
            raise NodeProblem(-32015, "Transaction version (0) is not supported by the requesting client")
        return {name: value for name, value in entry.items() if name != "keys"}

    def _get_signatures_for_address(self, parameters, options):
        transactions = [
            {"signature": signature, "slot": entry["slot"], "err": entry["meta"]["err"], "memo": None}
            for signature, entry in reversed(self.history.items())
            if parameters[0] in entry["keys"]
        ]
        return transactions[: options["limit"]]


def serving(node):
    """Return a context that serves a node by HTTP on a free port, and yields its URL."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True  # or each answer waits 40 ms

        def do_POST(self):
            message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            reply = [one(entry) for entry in message] if isinstance(message, list) else one(message)
            content = json.dumps(reply).encode()
            self.send_response(node.instead.get("status", 200))
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_):
            pass

    def one(request):
        answer = {"jsonrpc": "2.0", "id": request["id"]}
        try:
            return answer | {"result": node.answer(request["method"], request.get("params", []))}
        except NodeProblem as problem:
            return answer | {"error": {"code": problem.code, "message": str(problem)}}

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    return serve_in_thread(server)
