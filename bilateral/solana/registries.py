"""The agent registries on Solana, SATI and 8004-solana, identified by their programs."""

from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Final, Protocol, TypeAlias

from bilateral.core.contracts.records import foreign_book
from bilateral.core.errors import InvalidArgumentError
from bilateral.core.identifiers.caip import ChainId
from bilateral.node.steps import Operation
from bilateral.solana.history import ReadAgent
from bilateral.solana.registry8004 import read_agent_8004
from bilateral.solana.sati import read_agent

SATI_NAME: Final = "SATI"
NAME_8004: Final = "8004-solana"


class SolanaAgent(ReadAgent, Protocol):
    """An agent on Solana, from any registry."""

    @property
    def holder(self) -> str:
        """The account that holds the agent."""

    @property
    def uri(self) -> str:
        """The URI of the agent's registration file."""

    @property
    def wallet(self) -> str:
        """The account to which payments go; empty if the agent only declares a wallet on another chain."""

    @property
    def wallet_source(self) -> str:
        """`proven` if the wallet signed its consent, `metadata` if it did not, `owner` if there is no wallet."""

    @property
    def remarks(self) -> tuple[str, ...]:
        """Irregularities that do not make the agent unusable."""


ReadAgentOperation: TypeAlias = "Callable[..., Operation[SolanaAgent]]"

_READERS: Final[Mapping[str, ReadAgentOperation]] = {SATI_NAME: read_agent, NAME_8004: read_agent_8004}


def agent_registries(chain: ChainId, names: Collection[str] | None = None) -> dict[str, ReadAgentOperation]:
    """Return the operations that read agents from a node, keyed by the registry's program."""
    record = foreign_book().get(str(chain))
    programs = {} if record is None else record.registries
    missing = [name for name in names or () if name not in programs]
    if missing or not programs or (names is not None and not names):
        problem = ", ".join(missing) or "no registry"
        raise InvalidArgumentError(f"{problem} on {chain}: the address book only lists {', '.join(programs) or 'none'}")
    return {
        program: partial(_READERS[name], program=program)
        for name, program in programs.items()
        if names is None or name in names
    }
