"""The parameters of checks, shared by the REST API, the MCP tools and the command line."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from bilateral import checks
from bilateral.core.errors import InvalidArgumentError

if TYPE_CHECKING:
    from sqlalchemy import Connection

Text = Annotated[str, Field(max_length=200)]
_Block = Annotated[int, Field(ge=0, lt=2**63)]


class Snapshot(BaseModel):
    """The options that set a check's block and reproduce an earlier answer."""

    model_config = ConfigDict(extra="forbid")

    at_block: Annotated[_Block | None, Field(description="The block; by default, the last indexed one.")] = None
    history: Annotated[
        str | None,
        Field(
            pattern="^0x[0-9a-fA-F]{64}$",
            description="The `history` value of an earlier check result; rejected after a reorganisation.",
        ),
    ] = None
    analysis: Annotated[
        _Block | None, Field(description="The `analysis` value of an earlier check result, to reproduce it.")
    ] = None
    findings: Annotated[bool, Field(description="False to omit the trust analysis's findings.")] = True

    def snapshot_options(self) -> dict[str, Any]:
        """Return these options as keyword arguments for a check."""
        return {
            "at_block": self.at_block,
            "history": None if self.history is None else bytes.fromhex(self.history[2:]),
            "analysis": self.analysis,
            "findings": checks.stored_findings if self.findings else None,
        }


class OfServer(BaseModel):
    """The question of whether to pay a server."""

    agent_id: Annotated[Text, Field(alias="agent", description="The server, such as 8453:247.")]
    pay_to: Annotated[Text | None, Field(description="The account that would receive the payment.")] = None
    amount: Annotated[Decimal | None, Field(ge=0, description="The amount requested, in whole tokens.")] = None
    payment_chain: Annotated[_Block | None, Field(description="The payment's chain.")] = None
    for_client: Annotated[
        Text | None, Field(alias="client", description="The client that makes the request: an account or an agent.")
    ] = None
    files: Annotated[
        _Block | None, Field(description="The `files` value of an earlier check result, to reproduce it.")
    ] = None
    measurements: Annotated[
        _Block | None, Field(description="The `measurements` value of an earlier check result, to reproduce it.")
    ] = None

    def check(self, connection: Connection, /, **options: Any) -> checks.Check:
        """Answer the question."""
        if self.pay_to is None and self.payment_chain is not None:
            raise InvalidArgumentError("payment_chain requires pay_to")
        return checks.check_server(
            connection,
            self.agent_id,
            payment=None if self.pay_to is None else checks.Payment(self.pay_to, self.payment_chain),
            amount=self.amount,
            for_client=self.for_client,
            files=self.files,
            measurements=self.measurements,
            **options,
        )


class OfClient(BaseModel):
    """The question of whether to serve a client."""

    client: Annotated[Text, Field(description="The client: an account, or an agent such as 8453:247.")]
    for_server: Annotated[
        Text | None, Field(alias="server", description="The server that makes the request: an agent or its account.")
    ] = None
    chain: Annotated[_Block | None, Field(description="The account's chain.")] = None
    payments: Annotated[
        _Block | None, Field(description="The `payments` value of an earlier check result, to reproduce it.")
    ] = None

    def check(self, connection: Connection, /, **options: Any) -> checks.Check:
        """Answer the question."""
        return checks.check_client(
            connection, self.client, for_server=self.for_server, chain_id=self.chain, payments=self.payments, **options
        )
