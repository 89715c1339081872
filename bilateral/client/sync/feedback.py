# Generated from bilateral/client/aio by `make sync-client`. Change that, not this.
"""Methods for giving, reading, searching, averaging, responding to and revoking open feedback."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bilateral.client.operations import feedback, reading
from bilateral.client.results import FeedbackEntry, FeedbackResponse, FeedbackRevocation, ReputationSummary
from bilateral.client.state import AgentLike, ResponseLink
from bilateral.client.sync.runner import Handle, Runner
from bilateral.core.identifiers import FeedbackId
from bilateral.core.values import FeedbackValue, HumanValue
from bilateral.core.values.arguments import checked_class
from bilateral.documents import FeedbackFile


@checked_class
class FeedbackMethods(Runner):
    """Methods for giving, reading, searching, averaging, responding to and revoking open feedback."""

    def give_feedback(  # noqa: PLR0913, PLR0917  # the published SDKs' arguments
        self,
        agent_id: AgentLike,
        value: HumanValue | FeedbackValue,
        tag1: str = "",
        tag2: str = "",
        endpoint: str = "",
        feedback_file: FeedbackFile | None = None,
        *,
        feedback_uri: str = "",
        feedback_hash: bytes | str | None = None,
    ) -> Handle[FeedbackEntry]:
        """Rate an agent as the signer (ERC-8004, `giveFeedback`; best practices, "Give Feedback").

        Args:
            value: The value. A `FeedbackValue` is stored unchanged; any other value must be meaningful for `tag1`.
            tag1: What is measured; may be empty.
            tag2: The qualifier of `tag1`, such as a period; may be empty.
            endpoint: The endpoint that was used; may be empty.
            feedback_file: The result of `prepare_feedback_file`. It is completed with on-chain data and stored in the
                client's store.
            feedback_uri: The URI of a file that is already stored, instead of `feedback_file`.
            feedback_hash: The keccak-256 hash of the file; None if there is no hash.

        Raises:
            UnrepresentableValueError: The value has no exact representation, or is not meaningful for its tag.
            InvalidArgumentError: Both a file and a URI are passed, or the hash is malformed.
            DocumentError: The file cannot be stored.
            ContractRevertError: The registry reverts with `self_feedback` or `erc721_nonexistent_token`.
        """
        draft = feedback.Draft(value, tag1, tag2, endpoint, feedback_file, (feedback_uri, feedback_hash))
        return self._write(feedback.give(self.state, agent_id, draft))

    def get_feedback(
        self,
        agent_id: AgentLike | FeedbackId,
        client_address: str | None = None,
        feedback_index: int | None = None,
        *,
        load_file: bool = True,
    ) -> FeedbackEntry:
        """Read one feedback entry with its event and, by default, its file.

        Args:
            agent_id: The agent that was rated; or a `FeedbackId`, which replaces the first three arguments.
            client_address: The client that rated the agent.
            feedback_index: The index among that client's feedback, counted from 0 as in textual ids (best practices).
            load_file: True to load the file.

        Raises:
            InvalidArgumentError: The arguments do not fully identify the feedback, or identify it twice.
            ContractRevertError: The feedback does not exist (`index_out_of_bounds`).
        """
        return self._run(reading.get(self.state, agent_id, client_address, feedback_index, load_file=load_file))

    def read_all_feedback(
        self,
        agent_id: AgentLike,
        *,
        reviewers: Sequence[str] | None = None,
        tag1: str = "",
        tag2: str = "",
        include_revoked: bool = False,
    ) -> list[FeedbackEntry]:
        """Read all feedback for an agent from the registry's state (ERC-8004, `readAllFeedback`).

        If the node cannot return all of the feedback in one call, the client reads it in parts.

        Args:
            reviewers: The clients whose feedback to read; all clients by default.
            tag1: The first tag that feedback must have; an empty string matches any tag.
            tag2: The second tag that feedback must have; an empty string matches any tag.
            include_revoked: True to read revoked feedback too.

        Returns:
            The feedback, without events and files. It is grouped by client, in the order of the clients' first
            feedback, and sorted by index within each group.
        """
        selection = reading.Selection(tag1, tag2, include_revoked)
        return self._run(reading.read_all(self.state, agent_id, reviewers, selection))

    def get_clients(self, agent_id: AgentLike) -> list[str]:
        """Return all clients that gave an agent feedback, in order of their first feedback (ERC-8004, `getClients`)."""
        return self._run(reading.clients_of(self.state, agent_id))

    def search_feedback(  # noqa: PLR0913  # the published SDKs' arguments
        self,
        agent_id: AgentLike | None = None,
        *,
        agent_ids: Sequence[AgentLike] = (),
        reviewers: Sequence[str] | None = None,
        tags: Sequence[str] = (),
        capabilities: Sequence[str] = (),
        skills: Sequence[str] = (),
        tasks: Sequence[str] = (),
        names: Sequence[str] = (),
        min_value: HumanValue | None = None,
        max_value: HumanValue | None = None,
        include_revoked: bool = False,
        load_files: bool = False,
        load_seconds: float = 60.0,
    ) -> list[FeedbackEntry]:
        """Search feedback using only a node, without an index (best practices, "Read Feedback").

        Args:
            agent_id: The agent that was rated.
            agent_ids: Additional agents.
            reviewers: The clients whose feedback to search; all clients by default. If no agent is passed, the whole
                chain's logs are searched for these clients' feedback, which can take a long time.
            tags: Tags that the feedback must all have, each as either the first or the second tag.
            capabilities: Kinds of MCP capability (`tools`, `prompts`, `resources`). The file must contain at least one
                of them.
            skills: A2A or OASF skills. The file must contain at least one of them.
            tasks: A2A tasks. The file must contain at least one of them.
            names: Names of MCP tools, prompts or resources. The file must contain at least one of them.
            min_value: The minimum value.
            max_value: The maximum value.
            include_revoked: True to find revoked feedback too.
            load_files: True to look up events and load files. The time needed depends on untrusted servers: each file
                may take up to the loader's time limit, and at most sixteen files are loaded at a time. A search by
                fields in the file always loads files, and omits feedback whose file cannot be loaded.
            load_seconds: The number of seconds after which no further file starts loading. The remaining files count as
                timed out (`DocumentTimeoutError`), so a search by fields in the file omits their feedback.

        Returns:
            The feedback, sorted by agent, client and index.

        Raises:
            InvalidArgumentError: Neither an agent nor a reviewer is specified, or a capability is unknown.
        """
        agents = [*([agent_id] if agent_id is not None else []), *agent_ids]
        query = reading.Query(
            tags=tuple(tags),
            capabilities=frozenset(capabilities),
            skills=frozenset(skills),
            tasks=frozenset(tasks),
            names=frozenset(names),
            min_value=min_value,
            max_value=max_value,
            include_revoked=include_revoked,
            load_files=load_files,
            load_seconds=load_seconds,
        )
        return self._run(reading.search(self.state, agents, reviewers, query))

    def get_reputation_summary(
        self,
        agent_id: AgentLike,
        tag1: str = "",
        tag2: str = "",
        *,
        reviewers: Sequence[str] | None = None,
        read_tags: bool = True,
    ) -> ReputationSummary:
        """Average an agent's feedback (ERC-8004, `getSummary`).

        Args:
            tag1: The first tag that feedback must have; an empty string matches any tag.
            tag2: The second tag that feedback must have; an empty string matches any tag.
            reviewers: The clients that you trust. By default, the average includes all clients that have ever given the
                agent feedback, and the result's `is_everybody` is True.
            read_tags: True to also determine which first tags the averaged feedback has, if `tag1` is not set. This
                reads all of that feedback, in one or more calls.

        Returns:
            The average exactly as the registry computes it. If a node rejects the computation as too large, the client
            reads the feedback and computes the same average.
        """
        return self._run(reading.summarize(self.state, agent_id, tag1, tag2, reviewers, read_tags=read_tags))

    def append_response(
        self,
        agent_id: AgentLike | FeedbackId,
        client_address: str | None = None,
        feedback_index: int | None = None,
        response: str | ResponseLink | Mapping[str, str | bytes | None] | None = None,
    ) -> Handle[FeedbackResponse]:
        """Respond to a feedback entry (ERC-8004, `appendResponse`). Anyone may respond.

        Args:
            agent_id: The agent that was rated, or a `FeedbackId`.
            client_address: The client that rated the agent.
            feedback_index: The index among that client's feedback, counted from 0.
            response: Either the response's location, as a `ResponseLink` or `{"uri": …, "hash": …}`, or its non-empty
                text, which is saved to the client's document store as `{"text": …, "createdAt": …}`.

        Raises:
            InvalidArgumentError: The feedback is not fully identified, or the response has an unsupported format.
            ContractRevertError: The registry reverts with `empty_uri` or `index_out_of_bounds`.
        """
        return self._write(feedback.respond(self.state, agent_id, client_address, feedback_index, response))

    def get_responses(
        self, agent_id: AgentLike | FeedbackId, client_address: str | None = None, feedback_index: int | None = None
    ) -> list[FeedbackResponse]:
        """Search the chain's logs for the responses to a feedback entry.

        Args:
            agent_id: The agent that was rated, or a `FeedbackId`.
            client_address: The client that rated the agent.
            feedback_index: The index among that client's feedback, counted from 0.

        Returns:
            The responses, oldest first.
        """
        return self._run(reading.responses(self.state, agent_id, client_address, feedback_index))

    def revoke_feedback(
        self, agent_id: AgentLike | FeedbackId, feedback_index: int | None = None
    ) -> Handle[FeedbackRevocation]:
        """Revoke one of the signer's feedback entries (ERC-8004, `revokeFeedback`). This cannot be undone.

        Args:
            agent_id: The agent that was rated, or a `FeedbackId`.
            feedback_index: The index among the signer's feedback, counted from 0.

        Raises:
            InvalidArgumentError: The feedback is not fully identified, or was given by another client.
            ContractRevertError: The registry reverts with `index_out_of_bounds` or `already_revoked`.
        """
        return self._write(feedback.revoke(self.state, agent_id, feedback_index))
