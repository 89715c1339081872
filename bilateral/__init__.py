"""Two-sided trust for AI agents: clients rate servers, servers rate clients, and anyone can check both.

The names most users need are here, and load on first use (PEP 562), so that `import bilateral` stays fast:

    from bilateral import AsyncClient, Client, Deployment
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from bilateral.client import AsyncClient, AsyncClients, Client, Clients
    from bilateral.core.contracts import Deployment, Registry
    from bilateral.core.contracts.codec import ContractRevertError
    from bilateral.core.errors import BilateralError
    from bilateral.core.identifiers import AgentId, FeedbackId, GlobalAgentId
    from bilateral.core.values import FeedbackValue
    from bilateral.documents import FeedbackFile, RegistrationFile

__all__ = ["AgentId", "AsyncClient", "AsyncClients", "BilateralError", "Client", "Clients", "ContractRevertError"]
__all__ += ["Deployment", "FeedbackFile", "FeedbackId", "FeedbackValue", "GlobalAgentId", "RegistrationFile"]
__all__ += ["Registry"]

_MODULES: Final = {
    "AgentId": "core.identifiers",
    "AsyncClient": "client",
    "AsyncClients": "client",
    "BilateralError": "core.errors",
    "Client": "client",
    "Clients": "client",
    "ContractRevertError": "core.contracts.codec",
    "Deployment": "core.contracts",
    "FeedbackFile": "documents",
    "FeedbackId": "core.identifiers",
    "FeedbackValue": "core.values",
    "GlobalAgentId": "core.identifiers",
    "RegistrationFile": "documents",
    "Registry": "core.contracts",
}
"""The module of each public name."""


def __getattr__(name: str) -> Any:
    """Load a public name on first use."""
    module = _MODULES.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{module}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names, loaded or not."""
    return sorted({*globals(), *__all__})
