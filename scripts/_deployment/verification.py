"""Publishes the sources of deployed contracts at the chain's block explorer, and waits for its verdict."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ape_etherscan import Etherscan
from ape_etherscan.exceptions import EtherscanResponseError, UnsupportedEcosystemError
from eth_utils.crypto import keccak
from requests import RequestException

from scripts._build import build, sources
from scripts._deployment.errors import DeploymentError
from scripts._deployment.plan import PlannedContract
from scripts._explorer import use_explorer

if TYPE_CHECKING:
    from collections.abc import Callable

    from ape.api import NetworkAPI
    from ape_etherscan.client import ContractClient

    from scripts._deployment.records import ContractRecord

KEY_VARIABLE = "ETHERSCAN_API_KEY"
MIT_LICENCE = 3
"""Etherscan's number for it."""

PAUSE = 3.0
"""Seconds between two questions to the explorer."""


class RejectionError(DeploymentError):
    """The explorer does not believe that the sources belong to the contract."""


class _NamedExplorer(Etherscan):  # type: ignore[misc]  # it has no types
    """An explorer with Etherscan's API at a URL that the user named."""

    url: str

    @property
    def etherscan_uri(self) -> str:
        """The beginning of the links to its pages."""
        return self.url

    @property
    def etherscan_api_uri(self) -> str:
        """The URL of its API for the network's chain."""
        return f"{self.url}/v2/api?chainid={self.network.chain_id}"


def open_explorer(network: NetworkAPI, url: str | None = None) -> Etherscan:
    """Choose Etherscan as the explorer of a network.

    Args:
        network: The network that Ape is connected to.
        url: Another explorer that speaks its API, instead of that of Ape's settings or of Etherscan's list.

    Returns:
        The explorer.

    Raises:
        DeploymentError: If there is no key, or Etherscan does not know the network.
    """
    if not os.environ.get(KEY_VARIABLE):
        raise DeploymentError(
            f"{KEY_VARIABLE} is not set. One key of https://etherscan.io/apidashboard serves every chain."
        )
    explorer = Etherscan(name="etherscan", network=network)
    if url is not None:
        explorer = _NamedExplorer(name="etherscan", network=network, url=url.rstrip("/"))
    try:
        explorer.etherscan_api_uri  # noqa: B018  # it is looked up, in Ape's settings or in Etherscan's list of chains
    except UnsupportedEcosystemError as failure:
        raise DeploymentError(
            f"Etherscan does not know the chain {network.chain_id}. For another explorer that speaks its API, set "
            f"etherscan.{network.ecosystem.name}.{network.name}.uri and .api_uri in Ape's settings."
        ) from failure
    except RequestException as failure:
        raise DeploymentError("Etherscan does not answer; run the same command again later.") from failure
    use_explorer(network, explorer)
    return explorer


def rebuild(name: str, record: ContractRecord) -> PlannedContract:
    """Build a recorded contract again.

    Args:
        name: The contract.
        record: Its record.

    Returns:
        The contract, built to exactly what was deployed.

    Raises:
        DeploymentError: If the sources give something else now.
    """
    if name in sources():
        contract = PlannedContract(build(name), bytes.fromhex(record.salt[2:]), record.constructor_arguments)
        if f"0x{keccak(contract.init_code).hex()}" == record.init_code_hash:
            return contract
    raise DeploymentError(
        f"{name}: sources, compiler or settings are not those that were deployed. "
        f"Check out commit {record.git_commit}, and run the same command there."
    )


@dataclass(frozen=True)
class Publication:
    """The publication of one contract.

    Attributes:
        contract: The contract.
        explorer: The explorer to publish at.
        timeout: Seconds to wait for the verdict.
        tell: Prints the progress.
    """

    contract: PlannedContract
    explorer: Etherscan
    timeout: float
    tell: Callable[[str], None]

    def run(self) -> str:
        """Publish the contract and wait until the explorer has accepted it, or find that it did so before.

        Returns:
            The contract's page.

        Raises:
            RejectionError: If the explorer rejects it.
            DeploymentError: If there is no verdict.
        """
        factory = self.explorer._client_factory  # noqa: SLF001  # Ape's plug-in has no other way to it
        client = factory.get_contract_client(self.contract.address)
        until = time.monotonic() + self.timeout
        submission = self._patiently(lambda: self._submit(client), until)
        if not _is_accepted(submission):
            self.tell(f"{self.contract.name}: submitted, waiting for the verdict …")
            verdict = self._patiently(lambda: str(client.check_verify_status(submission)), until)
            if not _is_accepted(verdict):
                raise RejectionError(f"{self.contract.name}: the explorer rejects it: {verdict}")
        return f"{self.explorer.get_address_url(self.contract.address)}#code"

    def _submit(self, client: ContractClient) -> str:
        """Hand the sources in; the answer is the number under which the verdict can be asked for."""
        build, settings = self.contract.build, self.contract.build.settings
        try:
            return str(
                client.verify_source_code(
                    dict(build.standard_json),
                    build.compiler,
                    contract_name=f"{build.source_id}:{build.name}",
                    optimization_used=settings["optimizer"]["enabled"],
                    optimization_runs=settings["optimizer"]["runs"],
                    constructor_arguments=self.contract.constructor_arguments.hex(),
                    evm_version=settings["evmVersion"],
                    license_type=MIT_LICENCE,
                    via_ir=settings.get("viaIR", False),
                )
            )
        except EtherscanResponseError as refusal:
            answer = str(refusal)
            if _is_accepted(answer) or _is_temporary(answer) or _is_about_the_key(answer):
                return answer
            raise RejectionError(f"{self.contract.name}: the explorer refuses the submission: {answer}") from refusal

    def _patiently(self, ask: Callable[[], str], until: float) -> str:
        """Ask until there is an answer that will not change by waiting."""
        while True:
            try:
                answer = ask()
            except RequestException as failure:
                raise DeploymentError(
                    f"{self.contract.name}: the explorer does not answer; run the same command again later."
                ) from failure
            except ValueError:  # what ape-etherscan makes of "429 Too Many Requests" after all its attempts
                answer = "rate limit"
            if _is_about_the_key(answer):
                raise DeploymentError(f"The explorer refuses the key in {KEY_VARIABLE}: {answer}")
            if not _is_temporary(answer):
                return answer
            if time.monotonic() > until:
                raise DeploymentError(f"{self.contract.name}: {_explain(answer)} Run the same command again later.")
            time.sleep(PAUSE)


def _is_accepted(answer: str) -> bool:
    return "already verified" in answer.lower() or answer.lower().startswith("pass")


def _is_temporary(answer: str) -> bool:
    """Return True if a retry may succeed; the explorer may not have seen the contract yet."""
    return any(sign in answer.lower() for sign in ("pending", "in progress", "rate limit", "unable to locate"))


def _is_about_the_key(answer: str) -> bool:
    return "api key" in answer.lower() and "rate limit" not in answer.lower()


def _explain(answer: str) -> str:
    if "rate limit" in answer.lower():
        return "the explorer's rate limit is exhausted."
    if "unable to locate" in answer.lower():
        return "the explorer has not seen the contract yet."
    return f"there is no verdict yet ({answer})."
