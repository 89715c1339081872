"""Methods for registering, loading, changing, transferring and looking up agents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from bilateral.client.aio.runner import AsyncHandle, AsyncRunner
from bilateral.client.operations import agents, directory
from bilateral.client.operations.directory import AgentProven, DirectoryEntry, PrimaryAgentChosen
from bilateral.client.results import (
    Agent,
    AgentTransferred,
    AgentUriSet,
    AgentWalletChanged,
    MetadataChanged,
    Registered,
)
from bilateral.client.state import AgentLike, TransactionSigner
from bilateral.core.values.arguments import checked_class
from bilateral.documents import RegistrationFile


@checked_class
class AsyncAgentMethods(AsyncRunner):
    """Methods for registering, loading, changing, transferring and looking up agents."""

    async def register_agent(
        self, uri: str = "", *, file: RegistrationFile | None = None, metadata: Mapping[str, bytes | str] | None = None
    ) -> AsyncHandle[Registered]:
        """Register a new agent, owned by the signer (ERC-8004, `register`).

        Args:
            uri: The URI of the agent's registration file. It may be empty, and can be set later.
            file: The registration file, as an alternative to `uri`. It is saved to the client's document store. It
                cannot contain the agent's id yet; `set_agent_uri` adds that later.
            metadata: On-chain metadata values, keyed by metadata key; text is stored as UTF-8.

        Raises:
            InvalidArgumentError: Both `uri` and `file` are passed.
            ContractRevertError: A metadata key is `agentWallet`, which the registry reserves (`reserved_key`).
        """
        return await self._write(agents.register(self.state, uri, file, metadata or {}))

    async def load_agent(self, agent_id: AgentLike, *, load_file: bool = True) -> Agent:
        """Load an agent from the chain, with its registration file unless `load_file` is False.

        Args:
            load_file: False to skip the file. A loading error is not raised, but stored in `Agent.file_problem`.

        Raises:
            ContractRevertError: The agent does not exist (`erc721_nonexistent_token`).
        """
        return await self._run(agents.load(self.state, agent_id, load_file=load_file))

    async def get_metadata(self, agent_id: AgentLike, key: str) -> bytes:
        """Read a metadata value from the chain.

        Returns:
            The value; empty if it was never set or the agent does not exist.
        """
        return await self._run(agents.get_metadata(self.state, agent_id, key))

    async def set_agent_uri(
        self, agent_id: AgentLike, uri: str | None = None, *, file: RegistrationFile | None = None
    ) -> AsyncHandle[AgentUriSet]:
        """Replace the URI of an agent's registration file (ERC-8004, `setAgentURI`).

        Args:
            agent_id: The agent; the signer must own it or be allowed to act for it.
            uri: The URI. An empty string removes the existing URI.
            file: The registration file, as an alternative to `uri`. The client adds the agent to the file's list of
                registrations if necessary, and saves the file to its document store.

        Raises:
            InvalidArgumentError: Both `uri` and `file` are passed, or neither is.
            ContractRevertError: The registry reverts with `not_authorized` or `erc721_nonexistent_token`.
        """
        return await self._write(agents.set_uri(self.state, agent_id, uri, file))

    async def edit_registration(  # noqa: PLR0913  # one parameter a field
        self,
        agent_id: AgentLike,
        *,
        name: str | None = None,
        description: str | None = None,
        image: str | None = None,
        add_services: Sequence[Mapping[str, Any]] = (),
        remove_services: Sequence[str] = (),
        fields: Mapping[str, Any] | None = None,
    ) -> AsyncHandle[AgentUriSet]:
        """Change an agent's registration file: load, edit and store the file, then set the agent's URI (`setAgentURI`).

        Fields that are not passed stay unchanged. The new file lists the agent among its registrations. If another
        program sets the URI after the file is loaded but before the transaction is in a block, that program's change is
        overwritten.

        Args:
            agent_id: The agent. The signer must own it or be allowed to act for it.
            name: The new name; None keeps the current one.
            description: The new description; None keeps the current one.
            image: The URI of the new picture; None keeps the current one.
            add_services: Services to add, as JSON objects such as `{"name": "MCP", "endpoint": "https://…"}`. They
                replace any services with the same names.
            remove_services: The names of services to remove.
            fields: New values of other fields, keyed by JSON name: `active`, `x402Support`, …

        Raises:
            DocumentError: The current file cannot be loaded. Nothing was sent.
            InvalidArgumentError: The agent has no file, nothing would change, or a service to remove is missing.
            MalformedDocumentError: A new value has the wrong type, or the new file lacks a field that ERC-8004
                requires.
            ContractRevertError: The registry reverts with `not_authorized` or `erc721_nonexistent_token`.
        """
        texts = {"name": name, "description": description, "image": image}
        values = {key: value for key, value in texts.items() if value is not None} | dict(fields or {})
        changes = agents.RegistrationChanges(values, add_services, remove_services)
        return await self._write(agents.edit(self.state, agent_id, changes))

    async def set_agent_wallet(
        self,
        agent_id: AgentLike,
        new_wallet: str,
        *,
        new_wallet_signer: TransactionSigner | None = None,
        deadline: datetime | None = None,
        signature: bytes | None = None,
    ) -> AsyncHandle[AgentWalletChanged]:
        """Set the wallet that receives an agent's payments, with the wallet's consent (ERC-8004, `setAgentWallet`).

        Args:
            agent_id: The agent; the signer must own it or be allowed to act for it.
            new_wallet_signer: The new wallet's signer; by default the client's signer, if its address is `new_wallet`.
            deadline: When the signature expires, at most five minutes after the time of the transaction's block. The
                default is four minutes after the last block's time or this machine's time, whichever is later. It is
                limited to five minutes after the last block if that is at least a minute away. Required with
                `signature`.
            signature: The wallet's signature of `AgentWalletSet`, if it was made in advance.

        Raises:
            MissingSignerError: Neither a signer for the wallet nor the wallet's signature was passed.
            InvalidArgumentError: A signature is passed without a deadline, or together with a signer.
            ContractRevertError: The registry reverts with `bad_wallet`, `expired`, `deadline_too_far`,
                `invalid_wallet_signature`, `not_authorized` or `erc721_nonexistent_token`. If `deadline_too_far` may be
                due to a difference between this machine's clock and the chain's time, the error's advice says so.
        """
        return await self._write(
            agents.set_wallet(self.state, agent_id, new_wallet, new_wallet_signer, deadline, signature)
        )

    async def unset_agent_wallet(self, agent_id: AgentLike) -> AsyncHandle[AgentWalletChanged]:
        """Remove an agent's wallet (ERC-8004, `unsetAgentWallet`).

        Args:
            agent_id: The agent; the signer must own it or be allowed to act for it.

        Raises:
            ContractRevertError: The registry reverts with `not_authorized` or `erc721_nonexistent_token`.
        """
        return await self._write(agents.unset_wallet(self.state, agent_id))

    async def set_metadata(self, agent_id: AgentLike, key: str, value: bytes | str) -> AsyncHandle[MetadataChanged]:
        """Set a metadata value on chain (ERC-8004, `setMetadata`).

        Args:
            agent_id: The agent; the signer must own it or be allowed to act for it.
            key: The key; any except `agentWallet`.
            value: The value; text is stored as UTF-8.

        Raises:
            ContractRevertError: The registry reverts with `reserved_key`, `not_authorized` or
                `erc721_nonexistent_token`.
        """
        return await self._write(agents.set_metadata(self.state, agent_id, key, value))

    async def transfer_agent(self, agent_id: AgentLike, new_owner: str) -> AsyncHandle[AgentTransferred]:
        """Transfer an agent to a new owner and clear its wallet (ERC-721, `safeTransferFrom`).

        Args:
            agent_id: The agent; the signer must own it or be allowed to act for it.
            new_owner: The new owner. A contract must implement the ERC-721 receiver interface.

        Raises:
            ContractRevertError: The registry reverts with `erc721_invalid_receiver`, `erc721_insufficient_approval` or
                `erc721_nonexistent_token`.
        """
        return await self._write(agents.transfer(self.state, agent_id, new_owner))

    async def get_agent_owner(self, agent_id: AgentLike) -> str:
        """Return the owner of an agent.

        Raises:
            ContractRevertError: The agent does not exist (`erc721_nonexistent_token`).
        """
        return await self._run(agents.owner_of(self.state, agent_id))

    async def is_authorized_or_owner(self, account: str, agent_id: AgentLike) -> bool:
        """Check whether an account is an agent's owner, operator or approved address, and thus cannot rate the agent.

        Raises:
            ContractRevertError: The agent does not exist (`erc721_nonexistent_token`).
        """
        return await self._run(agents.is_authorized_or_owner(self.state, account, agent_id))

    async def new_agent(self, domain: str) -> AsyncHandle[Registered]:
        """Register an agent for the signer under an unverified domain (ERC-8004 of August 2025, `newAgent`).

        Args:
            domain: The domain, which must not be empty. Comparisons ignore the case of ASCII letters.

        Raises:
            ContractRevertError: The registry reverts with `invalid_domain`, `domain_already_registered` or
                `address_already_registered`.
        """
        return await self._write(directory.new_agent(self.state, domain))

    async def update_agent(
        self, agent_id: AgentLike, *, domain: str = "", address: str | None = None
    ) -> AsyncHandle[DirectoryEntry]:
        """Change an agent's domain, its owner, or both (ERC-8004 of August 2025, `updateAgent`).

        Args:
            agent_id: The agent, which the signer must own.
            domain: The new domain; empty keeps the current one. If another agent of the same owner has this domain,
                that agent loses it in the same transaction.
            address: The new owner, which must not have an agent yet; None keeps the current owner.

        Raises:
            InvalidArgumentError: Neither a domain nor an address is passed.
            ContractRevertError: The registry reverts with `agent_not_found`, `unauthorized_update`,
                `domain_already_registered` or `address_already_registered`.
        """
        return await self._write(directory.update_agent(self.state, agent_id, domain, address))

    async def release_agent_domain(self, agent_id: AgentLike) -> AsyncHandle[DirectoryEntry]:
        """Release an agent's domain, which anyone can then register (`releaseAgentDomain`).

        If the agent has no domain, nothing changes. To move a domain to another agent of the same owner, call
        `update_agent` for that agent instead, so that nobody else can register the domain in between.

        Args:
            agent_id: The agent, which the signer must own.

        Raises:
            ContractRevertError: The registry reverts with `agent_not_found` or `unauthorized_update`.
        """
        return await self._write(directory.release_agent_domain(self.state, agent_id))

    async def resolve_by_domain(self, domain: str) -> DirectoryEntry:
        """Find the agent to which a domain belongs (ERC-8004 of August 2025, `resolveByDomain`).

        Args:
            domain: The domain; the case of ASCII letters is ignored.

        Raises:
            ContractRevertError: No agent has this domain (`agent_not_found`).
        """
        return await self._run(directory.resolve_by_domain(self.state, domain))

    async def resolve_by_address(self, address: str) -> DirectoryEntry:
        """Find the primary agent of an account (ERC-8004 of August 2025, `resolveByAddress`).

        Args:
            address: The account.

        Raises:
            ContractRevertError: The account has no primary agent (`agent_not_found`).
        """
        return await self._run(directory.resolve_by_address(self.state, address))

    async def set_primary_agent(self, agent_id: AgentLike) -> AsyncHandle[PrimaryAgentChosen]:
        """Choose the signer's primary agent: the agent as which the signer rates others (`setPrimaryAgent`).

        Args:
            agent_id: The agent; the signer must be its owner or wallet.

        Raises:
            ContractRevertError: The registry reverts with `not_owner_or_wallet` or `erc721_nonexistent_token`.
        """
        return await self._write(directory.set_primary_agent(self.state, agent_id))

    async def prove_agent(self, agent_id: AgentLike) -> AsyncHandle[AgentProven]:
        """Prove to the companion contract of a foreign identity registry that an agent exists (`proveAgent`).

        Anyone may call this. A batch of ratings (`rate_clients`, `rate_validators`) is rejected if an agent's id
        exceeds the highest proven id, so first prove the agent with the highest id in the batch. This project's own
        identity registry needs no proof.

        Raises:
            MissingRegistryError: The deployment has no companion contract.
            ContractRevertError: The agent does not exist (`erc721_nonexistent_token`).
        """
        return await self._write(directory.prove_agent(self.state, agent_id))
