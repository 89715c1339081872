"""The stage of the demo: a local chain with the registries, funded accounts by role, and a narrator who checks."""

from __future__ import annotations

import tempfile
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ape
from ape.exceptions import ApeException, ContractLogicError, CustomError
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from web3.exceptions import Web3Exception

from scripts._anvil import running_anvil
from scripts._build import ROOT, build_all, container
from scripts._deployment.execution import execute, survey
from scripts._deployment.live_chain import Chain
from scripts._deployment.parameters import load_parameters
from scripts._deployment.plan import make_plan
from scripts._deployment.records import Records
from scripts._deployment.wallet import Wallet
from scripts._explorer import use_explorer

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ape.api import AccountAPI
    from ape.contracts import ContractContainer, ContractInstance
    from web3 import Web3

ACCOUNTS = 36
STATES = 1_000
"""Blocks whose states the chain keeps: the last chapters ask for the first ones. Anvil keeps 256 otherwise."""

LOCAL_CHAIN_ID = 31337
ZERO_ADDRESS = "0x0000000000000000000000000000000000000000"
CONTRACTS = (
    *("BuyerReputationRegistry", "BuyerTierProofs", "CompanionDirectory", "DiscountedService", "GatedService"),
    *("IdentityRegistry", "TierProofVerifier"),
    *("BidirectionalReputationRegistry", "MockDeployedIdentityRegistry", "MockDeployedProxy", "MockPaymentToken"),
)
"""The contracts that the story deploys itself. `Stage.contract` has no others."""

PARAMETERS = ROOT / "deployments" / "parameters.yaml"


class StepError(Exception):
    """A step of the story did not do what it says."""


@dataclass
class Tally:
    """The counts of one chapter.

    Attributes:
        title: The chapter's title.
        steps: Steps that did what they say.
        refusals: Attempts that were refused as they should be.
        failures: Steps and attempts that went otherwise.
        transactions: Transactions that were mined.
        gas: The gas of the transactions.
    """

    title: str
    steps: int = 0
    refusals: int = 0
    failures: int = 0
    transactions: int = 0
    gas: int = 0


@dataclass
class Step:
    """One step of the story, being played.

    Attributes:
        stage: The stage.
        checked: The checks, as the demo prints them.
    """

    stage: Stage
    checked: list[str] = field(default_factory=list)

    def check(self, text: str, actual: object, expected: object) -> None:
        """Check one consequence of the step, and show it.

        Args:
            text: The subject of the check, in a word or two.
            actual: The actual value.
            expected: The expected value. Accounts and contracts stand for their addresses.

        Raises:
            StepError: If they differ.
        """
        shown = self.stage.show(actual)
        if _plain(actual) != _plain(expected):
            raise StepError(f"{text} is {shown}, not {self.stage.show(expected)}")
        self.checked.append(f"{text} [cyan]{escape(shown)}[/]")


class Stage:
    """A local chain with all registries, and a narrator.

    Attributes:
        agents: The id of each role's agent, filled in by the chapters.
        record: The deployment record, a file.
        tallies: The counts by chapter.
    """

    def __init__(self, console: Console, web3: Web3) -> None:
        """Use `Stage.opened` instead.

        Args:
            console: The console to print to.
            web3: The connection to the chain.
        """
        self.agents: dict[str, int] = {}
        self.record = Path()
        self.tallies: list[Tally] = []
        self._console = console
        self._web3 = web3
        self._accounts: dict[str, AccountAPI] = {}
        self._registries: dict[str, ContractInstance] = {}

    @classmethod
    @contextmanager
    def opened(cls, console: Console, *options: str) -> Iterator[Stage]:
        """Start a chain, connect to it and deploy the registries; stop the chain in the end.

        Args:
            console: The console to print to.
            *options: Further options of anvil.

        Yields:
            The stage.
        """
        with ExitStack() as stack:
            url = stack.enter_context(running_anvil("--accounts", str(ACCOUNTS), *options, states=STATES))
            local = ape.networks.ethereum.local
            provider = stack.enter_context(local.use_provider("foundry", provider_settings={"host": url}))
            use_explorer(provider.network, None)
            records = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            stage = cls(console, provider.web3)
            stage._deploy(Records(records), url)
            stage.record = Records(records).path(stage.chain_id)
            yield stage

    @property
    def url(self) -> str:
        """The URL of the chain's JSON-RPC."""
        return str(self._web3.provider.endpoint_uri)  # type: ignore[attr-defined]  # it is by HTTP

    @property
    def chain_id(self) -> int:
        """The chain's id."""
        return self._web3.eth.chain_id

    @property
    def height(self) -> int:
        """The number of the latest block."""
        return self._web3.eth.block_number

    def ask(self, method: str, *parameters: object) -> Any:
        """Call a method of the chain's JSON-RPC, and return its result.

        Args:
            method: The method.
            *parameters: Its parameters, in the form of JSON.

        Raises:
            StepError: If the chain refuses.
        """
        answer: Any = self._web3.provider.make_request(method, list(parameters))  # type: ignore[arg-type]  # a name
        if "error" in answer:
            raise StepError(f"{method}: {answer['error'].get('message')}")
        return answer["result"]

    def account(self, role: str) -> AccountAPI:
        """Return a funded account. The same role gets the same account.

        Args:
            role: Who it is; the story shows this instead of the address.

        Returns:
            The account.
        """
        if role not in self._accounts:
            accounts, index = ape.accounts.test_accounts, len(self._accounts)
            while len(accounts) <= index:  # the project's settings name fewer than the story has
                accounts.generate_test_account()
            self._accounts[role] = accounts[index]
        return self._accounts[role]

    def registry(self, name: str) -> ContractInstance:
        """Return a deployed contract.

        Args:
            name: Its name, as in `deployments/parameters.yaml`.

        Returns:
            The contract.
        """
        return self._registries[name]

    def contract(self, name: str) -> ContractContainer:
        """Return a contract to deploy.

        Args:
            name: One of `CONTRACTS`.
        """
        if name not in CONTRACTS:
            raise KeyError(f"{name} is compiled apart from the others: add it to CONTRACTS")
        return container(name)

    def introduce(self, name: str, contract: ContractInstance) -> None:
        """Add a contract to the story, which from then on shows its name.

        Args:
            name: Its name in the story.
            contract: The contract.
        """
        ape.chain.contracts[contract.address] = contract.contract_type  # so that Ape decodes its errors
        self._registries[name] = contract

    def now(self) -> int:
        """Return the time of the latest block.

        Returns:
            Unix time in seconds.
        """
        return int(self._web3.eth.get_block("latest")["timestamp"])

    def show(self, value: object) -> str:
        """Put a value into words: addresses become roles and contracts' names.

        Args:
            value: The value.

        Returns:
            The words.
        """
        value = _plain(value)
        names: dict[object, str] = {_plain(account): role for role, account in self._accounts.items()}
        names |= {_plain(contract): name for name, contract in self._registries.items()}
        names[ZERO_ADDRESS] = "nobody"
        if isinstance(value, bytes):
            return value.decode() if value.isascii() else f"0x{value.hex()}"
        return names.get(value, str(value) if value != "" else "none")

    def chapter(self, title: str) -> None:
        """Begin a chapter.

        Args:
            title: Its title.
        """
        self.tallies.append(Tally(title))
        self._console.print()
        self._console.rule(f"[bold]{escape(title)}", align="left", style="dim")

    @contextmanager
    def step(self, text: str) -> Iterator[Step]:
        """Play a step. It must check what it says; if it fails, the story continues and the demo fails at the end.

        Args:
            text: The step, as a sentence.

        Yields:
            The step, which the block's checks are made with.
        """
        step = Step(self)
        with self._watched(text) as height:
            yield step
            if not step.checked:
                raise StepError("nothing was checked")
            self.tallies[-1].steps += 1
            self._console.print(f" [green]✓[/] {escape(text)}{self._count_gas(height)}")
            self._console.print(f"     [dim]{' · '.join(step.checked)}[/]")

    @contextmanager
    def refused(self, error: Any, text: str, **arguments: object) -> Iterator[None]:
        """Try what must be refused.

        Args:
            error: The error that must come: `registry.SomeError`, or the text of a plain one.
            text: Who tries what, as a sentence.
            **arguments: The error's arguments, all of them.

        Yields:
            Nothing.
        """
        with self._watched(text) as height:
            try:
                yield
            except ContractLogicError as refusal:
                if isinstance(refusal, CustomError):
                    name, inputs = refusal.abi.name, {key: _plain(value) for key, value in refusal.inputs.items()}
                else:
                    name, inputs = str(refusal.revert_message), {}
                if name != (error if isinstance(error, str) else error.abi.name) or inputs != {
                    key: _plain(value) for key, value in arguments.items()
                }:
                    raise StepError(f"it was refused otherwise, with {self._describe(name, inputs)}") from refusal
                shown = name if isinstance(error, str) else self._describe(name, inputs)
            else:
                raise StepError("it was not refused")
            self._count_gas(height)
            self.tallies[-1].refusals += 1
            self._console.print(f" [yellow]⊘[/] {escape(text)}")
            self._console.print(f"     [dim]refused:[/] [yellow]{escape(shown)}[/]")

    def table(self, title: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
        """Show what is on the chain now.

        Args:
            title: The table's title.
            columns: The columns' titles.
            rows: The values; addresses are put into words.
        """
        table = Table(*columns, title=title, title_justify="left", title_style="bold")
        for row in rows:
            table.add_row(*(escape(self.show(value)) for value in row))
        self._console.print()
        self._console.print(table)

    def close(self) -> bool:
        """Tell how it went.

        Returns:
            Whether every step did what it says.
        """
        table = Table("chapter", title="The story", title_justify="left", title_style="bold")
        for column in ("steps", "refusals", "failures", "transactions", "gas"):
            table.add_column(column, justify="right")
        for tally in self.tallies:
            figures = (tally.steps, tally.refusals, tally.failures, tally.transactions, tally.gas)
            table.add_row(tally.title, *(f"{figure:,}" for figure in figures))
        self._console.print()
        self._console.print(table)
        failures = sum(tally.failures for tally in self.tallies)
        if failures:
            self._console.print(f"[red]{failures} of the steps did not do what they say.[/]")
        else:
            self._console.print("[green]Every step did what it says.[/]")
        return not failures

    def _deploy(self, records: Records, url: str) -> None:
        self.chapter("Deployment")
        chain = Chain(self._web3, "ethereum:local")
        deployer = Wallet(self.account("deployer"), chain.chain_id)
        parameters = load_parameters(PARAMETERS)
        build_all(sorted({*parameters, *CONTRACTS}))  # together, which takes the compiler half the time
        plan = make_plan(parameters)
        survey(chain, plan, records.load(chain.chain_id, chain.network))
        with self.step("A local chain is up.") as step:
            step.check("at", self._web3.provider.endpoint_uri, url)  # type: ignore[attr-defined]  # it is by HTTP
            step.check("chain id", self._web3.eth.chain_id, LOCAL_CHAIN_ID)
            step.check("block", self._web3.eth.block_number, 0)
        outcomes = execute(chain, deployer, plan, records, timeout=60, tell=lambda _: None)
        for contract in plan:
            with self.step(f"{contract.name} is deployed.") as step:
                outcome = next(outcomes)
                step.check("address", outcome.record.address, contract.address)
                self.introduce(contract.name, container(contract.name).at(contract.address))

    @contextmanager
    def _watched(self, text: str) -> Iterator[int]:
        """Tell of a failure instead of ending the story."""
        try:
            yield self._web3.eth.block_number
        except (StepError, ApeException, Web3Exception) as failure:
            self.tallies[-1].failures += 1
            self._console.print(f" [red]✗ {escape(text)}[/]")
            self._console.print(f"     [red]{type(failure).__name__}: {escape(str(failure))}[/]")

    def _count_gas(self, height: int) -> str:
        """Count the transactions since a block, and put their gas into words."""
        tally, gas = self.tallies[-1], 0
        for number in range(height + 1, self._web3.eth.block_number + 1):
            block = self._web3.eth.get_block(number)
            tally.transactions += len(block["transactions"])
            gas += block["gasUsed"]
        tally.gas += gas
        return f" [dim]{gas:,} gas[/]" if gas else ""

    def _describe(self, name: str, inputs: dict[str, object]) -> str:
        return f"{name}({', '.join(f'{key}={self.show(value)}' for key, value in inputs.items())})"


def _plain(value: object) -> object:
    """Take accounts and contracts for their addresses."""
    return str(value.address) if hasattr(value, "address") else value


def send_from(stage: Stage, call: dict[str, Any]) -> None:
    """Send a transaction, and wait until it is mined.

    Args:
        stage: The stage.
        call: The transaction, in the form of JSON.

    Raises:
        StepError: If the chain refuses it, or it fails.
    """
    # `eth_sendTransaction` answers before the block is there, and the next call may need what this one changes.
    receipt = stage.ask("eth_sendTransactionSync", call)
    if int(receipt["status"], 16) != 1:
        raise StepError(f"the transaction {receipt['transactionHash']} from {call['from']} to {call['to']} failed")
