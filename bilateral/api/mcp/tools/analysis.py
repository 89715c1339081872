"""Trust analysis tools: why an account is suspicious, and whose feedback on an agent should count."""

from typing import Annotated, Any

from mcp.server import MCPServer
from pydantic import Field
from sqlalchemy import Connection

from bilateral.api.answers import indexed
from bilateral.api.mcp.lookups import READS, AgentText, Untrusted, key_of, words_of_strangers
from bilateral.api.routes.analysis import ExplainedAccount
from bilateral.api.routes.analysis import explain_account as explanation
from bilateral.core.identifiers import checksummed
from bilateral.index.reading.readers import Reader
from bilateral.index.reading.registries import read_registries
from bilateral.index.standing.queries import TrustedClients, trusted_clients


def add_tools(server: MCPServer[Any], reader: Reader) -> None:
    """Add the tools to a server."""

    @server.tool(title="Explain account", annotations=READS)
    async def explain_account(
        address: Annotated[str, Field(max_length=42, description="0x….")], chain: Annotated[int, Field(ge=1, lt=2**63)]
    ) -> Untrusted:
        """Look up what the trust analysis found about an account.

        A flag is a reason to investigate, not a verdict. A `subject` of a finding is not blamed.
        """

        def read(connection: Connection) -> ExplainedAccount:
            return explanation(connection, chain, read_registries(connection).identity_of(chain), checksummed(address))

        return await words_of_strangers(ExplainedAccount, reader.read, read)

    @server.tool(title="Get trusted clients", annotations=READS)
    async def get_trusted_clients(agent: AgentText) -> Untrusted:
        """List the clients whose feedback on an agent should count, for `getSummary`.

        Without `by_list`, undetected false accounts are not filtered.
        """

        def read(connection: Connection) -> TrustedClients:
            key = key_of(connection, agent)
            return indexed(trusted_clients(connection, key), "analysis of chain", key.chain_id)

        return await words_of_strangers(TrustedClients, reader.read, read)
