"""The collection of reasons, under a policy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from eth_utils.crypto import keccak

from bilateral.checks.seen_files import Sight
from bilateral.checks.verdicts import Check, FileEvidence, Reason, Severity, sorted_reasons, verdict_of

if TYPE_CHECKING:
    from bilateral.checks.as_of_block import Moment
    from bilateral.checks.policy import Policy
    from bilateral.checks.verdicts import Code, EventEvidence, Verdict

MAX_SHOWN_URI: Final = 300
"""The characters of a URI in an answer. URIs on web servers and gateways have 200 at most."""


class Reasons:
    """The reasons of one check."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self._found: list[Reason] = []
        self._files: dict[str, int] = {}

    def number_of(self, sight: Sight) -> int:
        """Return the number by which the answer names a file. The first file is 1.

        Args:
            sight: The file.
        """
        return self._files.setdefault(sight.uri, len(self._files) + 1)

    def add(
        self, code: Code, sentence: str, *evidence: EventEvidence | Sight | None, severity: Severity | None = None
    ) -> None:
        """Add a reason.

        Args:
            sentence: Its sentence, without words of strangers.
            *evidence: The events and files that it rests on; None is left out.
            severity: Its severity; that of the policy if left out.
        """
        known = tuple(
            self._file_evidence(entry) if isinstance(entry, Sight) else entry for entry in evidence if entry is not None
        )
        self._found.append(Reason(code, severity or self.policy.severity_of(code), sentence, known))

    @property
    def verdict(self) -> Verdict:
        """The verdict that the gravest reason makes."""
        return verdict_of(self._found)

    @property
    def sorted(self) -> tuple[Reason, ...]:
        """The reasons, the gravest first."""
        return sorted_reasons(self._found)

    def check(  # noqa: PLR0913  # the parts of an answer
        self,
        side: str,
        moment: Moment,
        *,
        agent: str | None,
        account: str | None,
        figures: dict[str, Any],
        untrusted: dict[str, Any],
        files: int = 0,
        payments: int = 0,
        analysis: int = 0,
    ) -> Check:
        """Return the answer that the reasons make."""
        return Check(
            verdict=self.verdict,
            side=side,
            chain_id=moment.chain_id,
            agent=agent,
            account=account,
            block=moment.block,
            history=None if moment.history is None else "0x" + moment.history.hex(),
            block_time=moment.time,
            files=files,
            payments=payments,
            analysis=analysis,
            reasons=self.sorted,
            figures=figures,
            untrusted=untrusted if not self._files else {**untrusted, "files": self._shown_files()},
        )

    def _file_evidence(self, sight: Sight) -> FileEvidence:
        """Return a file as evidence, without its URI."""
        content_hash = None if sight.content_hash is None else "0x" + sight.content_hash.hex()
        return FileEvidence(self.number_of(sight), sight.state.value, content_hash, sight.integrity, sight.reason)

    def _shown_files(self) -> dict[str, Any]:
        return {str(number): _shown_uri(uri) for uri, number in self._files.items()}


def _shown_uri(uri: str) -> dict[str, Any]:
    """Return a URI with its size and hash. Of a data URI, and of one that is too long, only the beginning is shown."""
    head = uri.partition(",")[0] if uri[:5].lower() == "data:" else uri
    return {"uri": head[:MAX_SHOWN_URI], "bytes": len(uri.encode()), "hash": "0x" + keccak(uri.encode()).hex()}
