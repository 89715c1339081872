"""Execution of a plan, which a new run resumes wherever it was interrupted."""

from __future__ import annotations

import subprocess
import time
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from eth_utils.address import to_checksum_address
from eth_utils.crypto import keccak
from web3.exceptions import BadFunctionCallOutput, ContractLogicError, Web3Exception, Web3RPCError

from bilateral.core.contracts import Registry
from bilateral.node.refusals import Refusal
from scripts._build import ROOT
from scripts._deployment.errors import DeploymentError, explained, one_line
from scripts._deployment.live_chain import POLL, Chain, Creation, Receipt, is_temporary, words_of
from scripts._deployment.plan import DEPLOYER, PlannedContract
from scripts._deployment.records import ChainRecord, ContractRecord, Records

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from eth_typing import ChecksumAddress

    from scripts._deployment.wallet import SignedTransaction, Wallet

GAS_MARGIN = 1.1
"""The factor between the gas limit of a transaction and the node's estimate."""

ATTEMPTS = 5
"""Attempts to sign a transaction whose nonce another transaction has taken."""

UNCOMMITTED = "-dirty"
"""The suffix of a commit whose sources have uncommitted changes."""

SOURCES = ["contracts", "ape-config.yaml", "package-lock.json"]
"""The files that decide the bytecode."""


class State(Enum):
    """The state of a contract in a deployment."""

    MISSING = "to be deployed"
    IN_PLACE = "in place"
    FOUND = "found in place, now recorded"
    DEPLOYED = "deployed"


@dataclass(frozen=True)
class Outcome:
    """The outcome for one contract.

    Attributes:
        contract: The contract.
        state: Its state after the run.
        record: Its record after the run.
        cost: The price that this run paid for it, in wei.
    """

    contract: PlannedContract
    state: State
    record: ContractRecord
    cost: int = 0


def survey(chain: Chain, plan: Sequence[PlannedContract], record: ChainRecord) -> dict[str, State]:
    """Find the contracts that are in place, before anything is sent.

    Args:
        chain: The chain.
        plan: The plan.
        record: The chain's record.

    Returns:
        The state of each contract by name: missing, in place, or found in place without being on record.

    Raises:
        DeploymentError: If the chain cannot be deployed to, other code is at an address, or the plan would put aside
            a contract that is on record, or is being deployed.
    """
    chain.require_cancun()
    chain.require_deployer()
    states = {}
    for contract in plan:
        recorded = record.contracts.get(contract.name)
        if recorded and recorded.address != contract.address and chain.code(to_checksum_address(recorded.address)):
            raise DeploymentError(
                f"{contract.name} is on record at {recorded.address} (commit {recorded.git_commit[:12]}), but sources, "
                f"compiler or parameters have changed and now give {contract.address}. To deploy anew, rename the "
                f"record of chain {chain.chain_id}; to keep it, check out that commit."
            )
        _require_pending_is(contract, chain, record.pending.get(contract.name))
        if not _is_there(chain, contract):
            states[contract.name] = State.MISSING
        else:
            states[contract.name] = State.IN_PLACE if recorded else State.FOUND
    return states


def _require_pending_is(contract: PlannedContract, chain: Chain, transaction: str | None) -> None:
    """Make sure that what an earlier run sent for a contract does not create it elsewhere, on no record."""
    if transaction is None:
        return
    sent = chain.transaction(transaction)
    if sent is None or sent.data == contract.calldata:
        return
    receipt = chain.receipt(transaction)
    if receipt is None or receipt.succeeded:
        raise DeploymentError(
            f"{contract.name}: the transaction {transaction} of an earlier run deploys it from other sources, by "
            "another compiler or with other parameters. Finish that run with those first."
        )


def with_margin(gas: int) -> int:
    """Return the most gas that a transaction may take.

    Args:
        gas: The estimate.

    Returns:
        Gas.
    """
    return int(gas * GAS_MARGIN)


def execute(  # noqa: PLR0913  # the three actors, and how to go about it
    chain: Chain,
    wallet: Wallet,
    plan: Sequence[PlannedContract],
    records: Records,
    *,
    timeout: float,
    tell: Callable[[str], None],
) -> Iterator[Outcome]:
    """Deploy what is missing, and record each contract as soon as it is there. The caller holds the records' lock.

    Args:
        chain: The chain.
        wallet: The paying account.
        plan: The plan.
        records: The records to write.
        timeout: Seconds to wait for a transaction.
        tell: Prints the progress.

    Yields:
        The outcome of each contract, once it is on record.

    Raises:
        DeploymentError: If a contract cannot be deployed. Contracts that were deployed before are on record.
    """
    for contract in plan:
        with explained(f"{contract.name}: cut off, and resumed by running the same command again"):
            yield _Step(chain, wallet, contract, records, timeout, tell).run()


@dataclass(frozen=True)
class _Step:
    chain: Chain
    wallet: Wallet
    contract: PlannedContract
    records: Records
    timeout: float
    tell: Callable[[str], None]

    def run(self) -> Outcome:
        record = self.records.load(self.chain.chain_id, self.chain.network)
        name, pending = self.contract.name, record.pending.get(self.contract.name)
        recorded = record.contracts.get(name)
        if recorded and recorded.address == self.contract.address and _is_there(self.chain, self.contract):
            if f"0x{keccak(self._read_back()).hex()}" != recorded.code_hash:
                raise DeploymentError(f"{name}: the code at {recorded.address} is not the one on record.")
            creation = self._created_anew(recorded)
            if creation:
                return self._written(record, State.FOUND, creation, 0)
            return Outcome(self.contract, State.IN_PLACE, recorded)

        receipt = self._earlier(pending) if pending else None
        if receipt is None and not _is_there(self.chain, self.contract):
            receipt = self._deploy(record)
        if receipt and receipt.succeeded:
            return self._written(record, State.DEPLOYED, receipt.creation, receipt.cost)
        if _is_there(self.chain, self.contract):  # somebody else was faster
            return self._written(record, State.FOUND, self.chain.find_creation(self.contract), 0)
        raise DeploymentError(f"{name}: the transaction {record.pending[name]} reverted.")

    def _created_anew(self, recorded: ContractRecord) -> Creation | None:
        """Another creation than the recorded one: somebody else's, after the chain was started anew.

        An unknown transaction alone proves nothing: the node may lag behind or have pruned it.
        """
        if recorded.transaction is None or self.chain.transaction(recorded.transaction):
            return None
        creation = self.chain.find_creation(self.contract)
        return None if creation.transaction in {None, recorded.transaction} else creation

    def _earlier(self, transaction: str) -> Receipt | None:
        """Return the receipt of an earlier run's transaction, if it created the contract."""
        sent = self.chain.transaction(transaction)
        if sent is None:
            return None
        self.tell(f"{self.contract.name}: taking up the transaction {transaction} of an earlier run …")
        receipt = self._outcome(transaction, sent.sender, sent.nonce)
        return receipt if receipt and receipt.succeeded else None

    def _deploy(self, record: ChainRecord) -> Receipt | None:
        """Send the creation until it is in a block, or somebody else has created the contract."""
        for _ in range(ATTEMPTS):
            try:
                gas = self.chain.gas_to_deploy(self.contract, self.wallet.address)
            except Web3Exception:
                if _is_there(self.chain, self.contract):
                    return None
                raise
            self._require_nothing_waits()
            signed = self.wallet.sign(DEPLOYER, self.contract.calldata, with_margin(gas))
            record.pending[self.contract.name] = signed.hash
            self.records.save(record)
            self.tell(f"{self.contract.name}: sending {signed.hash} …")
            if not self._published(signed, record):
                continue
            receipt = self._outcome(signed.hash, self.wallet.address, signed.nonce)
            if receipt:
                self.wallet.nonce_is_used(signed.nonce)
            if receipt or _is_there(self.chain, self.contract):
                return receipt
        raise DeploymentError(
            f"{self.contract.name}: somebody else keeps taking the nonces of {self.wallet.address}; "
            "stop what else uses the account, and run the same command again."
        )

    def _require_nothing_waits(self) -> None:
        """Make sure that the deployment takes the place of no other transaction that the account has sent."""
        if self.chain.next_free_nonce(self.wallet.address) > self.wallet.next_nonce:
            raise DeploymentError(
                f"{self.contract.name}: {self.wallet.address} has a transaction that waits for a block; run the same "
                "command again when it is in one."
            )

    def _published(self, signed: SignedTransaction, record: ChainRecord) -> bool:
        """Publish a transaction. Return False if another transaction has taken its nonce."""
        try:
            self.chain.send(signed.raw)
        except Web3RPCError as refusal:
            if self.chain.transaction(signed.hash):
                return True
            meaning = Refusal.of_words(*words_of(refusal))
            if meaning is Refusal.INSUFFICIENT_FUNDS:
                del record.pending[self.contract.name]
                self.records.save(record)
                raise DeploymentError(
                    f"{self.contract.name}: {self.wallet.address} cannot pay for it; fund the account, and run the "
                    "same command again."
                ) from refusal
            if meaning in (Refusal.NONCE_USED, Refusal.PRICE_TOO_LOW_TO_REPLACE):
                self.tell(f"{self.contract.name}: nonce {signed.nonce} was taken meanwhile, signing anew …")
                time.sleep(POLL)
                return False
            raise
        return True

    def _outcome(self, transaction: str, sender: ChecksumAddress, nonce: int) -> Receipt | None:
        """Wait until the transaction is in a block; None if another one has taken its nonce."""
        until = time.monotonic() + self.timeout
        while (receipt := self.chain.receipt(transaction)) is None:
            if self.chain.next_nonce(sender) > nonce and not self.chain.transaction(transaction):
                return self.chain.receipt(transaction)
            if time.monotonic() > until:
                raise DeploymentError(
                    f"{self.contract.name}: the transaction {transaction} is in no block after {self.timeout:.0f} s; "
                    "run the same command again to wait on."
                )
            time.sleep(POLL)
        return receipt

    def _written(self, record: ChainRecord, state: State, creation: Creation, cost: int) -> Outcome:
        code = self._read_back()
        contract = self.contract
        entry = ContractRecord(
            address=contract.address,
            block=creation.block,
            code_hash=f"0x{keccak(code).hex()}",
            compiler=contract.build.compiler,
            constructor_arguments=contract.arguments,
            deployer=creation.sender,
            first_agent_id=1 if contract.name == Registry.IDENTITY else None,
            git_commit=git_commit(),
            init_code_hash=f"0x{keccak(contract.init_code).hex()}",
            salt=f"0x{contract.salt.hex()}",
            settings=contract.build.settings,
            source=contract.build.source_id,
            transaction=creation.transaction,
        )
        record.contracts[contract.name] = entry
        record.pending.pop(contract.name, None)
        self.records.save(record)
        return Outcome(contract, state, entry, cost)

    def _read_back(self) -> bytes:
        """Compare code and views on the chain with the plan."""
        contract = self.contract
        code = self.chain.code_once_there(contract.address)
        if not contract.build.runs_as(code):
            raise DeploymentError(f"{contract.name}: what is at {contract.address} is not what was compiled.")
        for view, expected in contract.expected.items():
            self._require_view(view, expected)
        return code

    def _require_view(self, view: str, expected: object) -> None:
        """Call a view and compare its answer, because code that is in place may still not run on the chain."""
        contract = self.contract
        call = f"{contract.name}: {view}() at {contract.address}"
        try:
            actual = self.chain.call(contract.address, contract.build.abi, view)
        except (ContractLogicError, BadFunctionCallOutput, Web3RPCError) as failure:
            if is_temporary(failure):
                raise
            raise DeploymentError(
                f"{call} fails ({one_line(failure)}), expected {expected}. The contract does not run on this chain: do "
                "not use it."
            ) from failure
        if actual != expected:
            raise DeploymentError(f"{call} returns {actual}, expected {expected}. Do not use this contract.")


def _is_there(chain: Chain, contract: PlannedContract) -> bool:
    code = chain.code(contract.address)
    if code and not contract.build.runs_as(code):
        raise DeploymentError(f"{contract.name}: other code is at its address {contract.address}.")
    return bool(code)


def git_commit() -> str:
    """Return the commit that the sources are from.

    Returns:
        Its hash, with `-dirty` if what decides the bytecode has been changed since; `unknown` outside a repository.
    """
    try:
        commit = _git("rev-parse", "HEAD")
        return f"{commit}{UNCOMMITTED}" if _git("status", "--porcelain", "--", *SOURCES) else commit
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def _git(*arguments: str) -> str:
    run = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True)  # noqa: S603, S607
    return run.stdout.strip()
