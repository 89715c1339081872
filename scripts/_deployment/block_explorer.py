"""A local block explorer with the Etherscan API (v2), for rehearsals of `ape run verify` and for tests.

It compiles what is submitted with the pinned compiler, or takes the output that a build of this project kept for the
very same input. The code under test made that output, so one test in `test_verification` hides it, and has the explorer
compile. The output is compared with the code on the chain (immutable values masked, metadata included), and the
constructor's arguments with the transaction that created the contract.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import threading
from contextlib import contextmanager
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlsplit

from eth_utils.address import to_checksum_address
from eth_utils.crypto import keccak
from web3 import Web3

from scripts._build import CACHE, ROOT
from scripts._deployment.plan import DEPLOYER

if TYPE_CHECKING:
    from collections.abc import Iterator

KEY = "REHEARSAL"
"""The only key that it takes."""

RATE_LIMIT = "Max calls per sec rate limit reached (3/sec)"


class RefusalError(Exception):
    """An answer of the explorer with status 0."""


@cache
def compile_standard_json(text: str) -> str:
    """Compile a submission with the pinned compiler; two chains get the same one.

    Args:
        text: The compiler's standard JSON input.
    """
    command = [str(ROOT / "toolchain" / "solc.js"), "--standard-json"]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout  # noqa: S603


def output_of_a_build(submission: dict[str, Any], source: str, name: str) -> dict[str, Any] | None:
    """Return the output of the pinned compiler if a build of this project had the very same input; None otherwise.

    Args:
        submission: The standard JSON input.
        source: The file of the contract.
        name: The contract.
    """
    asked = json.dumps([compiler_version().removeprefix("v"), submission])
    kept = CACHE / f"{hashlib.sha256(asked.encode()).hexdigest()}.json"
    return {"contracts": {source: {name: json.loads(kept.read_text())}}} if kept.exists() else None


@cache
def compiler_version() -> str:
    """Return the long version of the pinned compiler, as `v0.8.37+commit.f401782d`."""
    command = [str(ROOT / "toolchain" / "solc.js"), "--version"]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout  # noqa: S603
    return "v" + output.split("Version: ")[1].split(".Emscripten")[0].strip()


class BlockExplorer:
    """An explorer of some chains.

    Attributes:
        url: Its URL.
        pending: The number of answers that still call a verdict pending.
        refusals: The next answers, given instead of results: a text, or an HTTP status.
        unseen: The number of submissions that it still refuses because it has not seen the contract.
        submissions: The submissions by number.

    Args:
        url: Its URL.
        nodes: The nodes of its chains, by chain id.
    """

    def __init__(self, url: str, nodes: dict[int, str]) -> None:
        self.url = url
        self.pending = 0
        self.unseen = 0
        self.refusals: list[str | int] = []
        self.submissions: dict[str, dict[str, str]] = {}
        self._nodes = {chain_id: Web3(Web3.HTTPProvider(node)) for chain_id, node in nodes.items()}
        self._verdicts: dict[str, str] = {}
        self._verified: set[tuple[int, str]] = set()

    def settings(self) -> dict[str, Any]:
        """Return the settings of Ape's that make it use this explorer for the networks of the tests."""

        def urls(chain_id: int) -> dict[str, str]:
            return {"uri": self.url, "api_uri": f"{self.url}/v2/api?chainid={chain_id}"}

        patience: dict[str, Any] = {"rate_limit": 100, "retries": 1}
        return {"base": patience | {"sepolia": urls(84532)}, "avalanche": patience | {"fuji": urls(43113)}}

    def respond(self, query: dict[str, str]) -> tuple[str, str, str]:
        """Return status, message and result of a request.

        Args:
            query: Its fields.
        """
        try:
            return "1", "OK", self.serve(query)
        except RefusalError as refusal:
            return "0", "NOTOK", str(refusal)

    def serve(self, query: dict[str, str]) -> str:
        """Return the result of a request.

        Args:
            query: Its fields.

        Raises:
            RefusalError: The request is refused.
        """
        chain_id = int(query.get("chainid", 0))
        if chain_id not in self._nodes:
            raise RefusalError("Missing or unsupported chainid parameter (required for v2 api)")
        if query.get("apikey") != KEY:
            raise RefusalError("Invalid API Key (#err2)|" if query.get("apikey") else "Missing/Invalid API Key")
        match query["module"], query["action"]:
            case "contract", "verifysourcecode":
                return self._submit(chain_id, query)
            case "contract", "checkverifystatus":
                return self._status(query["guid"])
        raise RefusalError("Error! Missing Or invalid Action name")

    def _submit(self, chain_id: int, form: dict[str, str]) -> str:
        address = to_checksum_address(form["contractaddress"])
        if (chain_id, address) in self._verified:
            raise RefusalError("Contract source code already verified")
        if self.unseen or not self._nodes[chain_id].eth.get_code(address):
            self.unseen -= 1
            raise RefusalError(f"Unable to locate ContractCode at {address}")
        guid = f"guid{len(self.submissions)}"
        self.submissions[guid] = form
        mistake = find_mistake(self._nodes[chain_id], address, form)
        self._verdicts[guid] = f"Fail - Unable to verify. {mistake}" if mistake else "Pass - Verified"
        if not mistake:
            self._verified.add((chain_id, address))
        return guid

    def _status(self, guid: str) -> str:
        if self.pending:
            self.pending -= 1
            raise RefusalError("Pending in queue")
        if not self._verdicts[guid].startswith("Pass"):
            raise RefusalError(self._verdicts[guid])
        return self._verdicts[guid]


def find_mistake(web3: Web3, address: str, form: dict[str, str]) -> str | None:
    """Verify a submission. Return the mistake in it; None if there is none.

    Args:
        web3: The chain.
        address: The contract.
        form: The fields of the submission.
    """
    if form["codeformat"] != "solidity-standard-json-input":
        return f"Unknown format {form['codeformat']}"
    if form["compilerversion"] != compiler_version():
        return f"No compiler {form['compilerversion']}"
    source, name = form["contractname"].rsplit(":", 1)
    submission = json.loads(form["sourceCode"])
    code = ["evm.bytecode.object", "evm.deployedBytecode.object", "evm.deployedBytecode.immutableReferences"]
    submission["settings"]["outputSelection"] = {source: {name: ["abi", *code]}}
    output = output_of_a_build(submission, source, name) or json.loads(compile_standard_json(json.dumps(submission)))
    if errors := [error["message"] for error in output.get("errors", ()) if error["severity"] == "error"]:
        return str(errors[0])
    if name not in output.get("contracts", {}).get(source, {}):
        return f"No contract {form['contractname']}"
    compiled = output["contracts"][source][name]["evm"]

    deployed = bytearray(web3.eth.get_code(to_checksum_address(address)))
    for places in compiled["deployedBytecode"]["immutableReferences"].values():
        for place in places:
            deployed[place["start"] : place["start"] + place["length"]] = bytes(place["length"])
    if deployed.hex() != compiled["deployedBytecode"]["object"]:
        return "The bytecode differs"
    creation = bytes.fromhex(compiled["bytecode"]["object"] + form["constructorArguements"])
    return None if was_created_by(web3, address, creation) else "The constructor arguments differ"


def was_created_by(web3: Web3, address: str, creation: bytes) -> bool:
    """Check that a transaction to the deterministic deployer created the contract from this code.

    Args:
        web3: The chain, which is searched block by block.
        address: The contract.
        creation: The creation code with its arguments.
    """
    for number in range(web3.eth.block_number + 1):
        transactions: Any = web3.eth.get_block(number, full_transactions=True)["transactions"]
        for transaction in transactions:
            data = bytes(transaction["input"])
            seed = b"\xff" + bytes.fromhex(DEPLOYER[2:]) + data[:32] + keccak(creation)
            if data[32:] == creation and to_checksum_address(keccak(seed)[12:]) == address:
                return True
    return False


@contextmanager
def block_explorer(nodes: dict[int, str], port: int = 0) -> Iterator[BlockExplorer]:
    """Run an explorer.

    Args:
        nodes: The nodes of its chains, by chain id.
        port: The port; 0 for a free one.

    Yields:
        The explorer.
    """

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.respond({})

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            self.respond(dict(parse_qsl(body, keep_blank_values=True)))

        def respond(self, form: dict[str, str]) -> None:
            refusal = explorer.refusals.pop(0) if explorer.refusals else None
            if isinstance(refusal, int):
                self.send_error(refusal)
                return
            query = dict(parse_qsl(urlsplit(self.path).query)) | form
            status, message, result = ("0", "NOTOK", refusal) if refusal else explorer.respond(query)
            answer = json.dumps({"status": status, "message": message, "result": result}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: object) -> None:
            """Write no line for a request."""

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    explorer = BlockExplorer(f"http://127.0.0.1:{server.server_port}", nodes)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield explorer
    finally:
        server.shutdown()
        server.server_close()
