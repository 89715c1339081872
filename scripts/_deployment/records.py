"""The records of deployments: `deployments/<chain id>.json`."""

from __future__ import annotations

import fcntl
import json
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

from eth_utils.address import is_checksum_address
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, ValidationError
from pydantic.alias_generators import to_camel

from bilateral.core.contracts.records import RegistryEntry
from scripts._deployment.errors import DeploymentError, first_mistake
from scripts._files import write_atomically

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def _checksummed(address: str) -> str:
    if not is_checksum_address(address):
        raise ValueError(f"{address} is not an address with a valid checksum")
    return address


Address = Annotated[str, AfterValidator(_checksummed)]
Bytes32 = Annotated[str, StringConstraints(pattern="^0x[0-9a-f]{64}$")]


_STRICT = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="forbid", validate_assignment=True)


class ContractRecord(RegistryEntry):
    """One contract that this project deployed. See `RegistryEntry` for the fields that every registry has.

    Attributes:
        address: Its address.
        block: The block that created it; None if it was found in place and the node does not tell.
        code_hash: Keccak-256 of the code on chain, immutable values included.
        compiler: The compiler's long version.
        constructor_arguments: The constructor's arguments by name.
        deployer: The account that paid for it; None if it was found in place and the node does not tell.
        explorer: Its page at the block explorer, once it is verified there.
        git_commit: The commit whose sources were compiled; `-dirty` follows if they had been changed since.
        init_code_hash: Keccak-256 of creation code and arguments; decides the address together with the salt.
        salt: The salt of the CREATE2 address.
        settings: The compiler settings.
        source: The file that declares it.
        transaction: The transaction that created it; None if it was found in place and the node does not tell.
        verified: True if the block explorer has accepted its sources.
    """

    model_config = _STRICT

    address: Address
    block: int | None = Field(ge=0)
    code_hash: Bytes32
    compiler: str
    constructor_arguments: dict[str, Any]
    deployer: Address | None
    explorer: str | None = None
    git_commit: str
    init_code_hash: Bytes32
    salt: Bytes32
    settings: dict[str, Any]
    source: str
    transaction: Bytes32 | None
    verified: bool = False


class ChainRecord(BaseModel):
    """All that was deployed to one chain.

    Attributes:
        chain_id: The chain.
        contracts: The deployed contracts by name.
        network: The network's name in Ape, as `base:sepolia`.
        pending: Transactions that were sent and whose outcome is not known yet, by contract: a run that was cut off
            leaves them, and the next one takes them up.
    """

    model_config = _STRICT

    chain_id: int = Field(gt=0)
    contracts: dict[str, ContractRecord] = {}
    network: str
    pending: dict[str, Bytes32] = {}

    def to_json(self) -> str:
        """Return the record as it is written: keys sorted, so that equal records are equal files."""
        content = self.model_dump(by_alias=True)
        if not self.pending:
            del content["pending"]
        return json.dumps(content, indent=2, sort_keys=True) + "\n"


class Records:
    """The folder of records.

    Attributes:
        folder: The folder.
    """

    def __init__(self, folder: Path) -> None:
        """Use a folder; it is made when something is written.

        Args:
            folder: The folder.
        """
        self.folder = folder

    def path(self, chain_id: int) -> Path:
        """Return the path of a chain's record.

        Args:
            chain_id: The chain.

        Returns:
            The file, which need not exist.
        """
        return self.folder / f"{chain_id}.json"

    def load(self, chain_id: int, network: str = "") -> ChainRecord:
        """Read the record of a chain.

        Args:
            chain_id: The chain.
            network: The network's name in Ape, for a chain without a record.

        Returns:
            The record; an empty one if there is none.

        Raises:
            DeploymentError: If the file cannot be read, or is not a record of this chain.
        """
        path = self.path(chain_id)
        try:
            record = ChainRecord.model_validate_json(path.read_bytes())
        except FileNotFoundError:
            return ChainRecord(chain_id=chain_id, network=network)
        except OSError as failure:
            raise DeploymentError(f"{path}: {failure.strerror}") from failure
        except ValidationError as failure:
            raise DeploymentError(f"{path}: {first_mistake(failure)}") from failure
        if record.chain_id != chain_id:
            raise DeploymentError(f"{path}: it is the record of chain {record.chain_id}.")
        return record

    def load_all(self) -> list[ChainRecord]:
        """Read all records.

        Returns:
            The records, by chain id.

        Raises:
            DeploymentError: If a file is not a record.
        """
        return [self.load(chain_id) for chain_id in self.chain_ids()]

    def chain_ids(self) -> list[int]:
        """Find out of which chains there are records. Other files in the folder are nobody's.

        Returns:
            The chains, in ascending order.
        """
        return sorted(int(path.stem) for path in self.folder.glob("[1-9]*.json") if path.stem.isdecimal())

    def save(self, record: ChainRecord) -> None:
        """Write the record of a chain, atomically.

        Args:
            record: The record.
        """
        write_atomically(self.path(record.chain_id), record.to_json())

    @contextmanager
    def locked(self, chain_id: int) -> Iterator[None]:
        """Keep other runs on this machine from deploying to the same chain.

        Args:
            chain_id: The chain.

        Yields:
            Nothing.

        Raises:
            DeploymentError: If another run is deploying to it now.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / f".{chain_id}.lock").open("w") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as failure:
                message = f"Another run is working on chain {chain_id}; try again when it has ended."
                raise DeploymentError(message) from failure
            yield
