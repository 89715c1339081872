"""The collection of reasons, under a policy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bilateral.checks.verdicts import Check, Reason, Severity, sorted_reasons, verdict_of

if TYPE_CHECKING:
    from bilateral.checks.moments import Moment
    from bilateral.checks.policy import Policy
    from bilateral.checks.verdicts import Code, Evidence


class Reasons:
    """The reasons of one check.

    Args:
        policy: The policy.

    Attributes:
        policy: The policy.
    """

    def __init__(self, policy: Policy) -> None:
        """See the class. There is no reason yet."""
        self.policy = policy
        self._found: list[Reason] = []

    def add(self, code: Code, sentence: str, *evidence: Evidence | None, severity: Severity | None = None) -> None:
        """Add a reason.

        Args:
            code: Its code.
            sentence: Its sentence, without words of strangers.
            *evidence: The events and files that it rests on; None is left out.
            severity: Its severity; that of the policy if left out.
        """
        known = tuple(it for it in evidence if it is not None)
        self._found.append(Reason(code, severity or self.policy.severity_of(code), sentence, known))

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
            verdict=verdict_of(self._found),
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
            reasons=sorted_reasons(self._found),
            figures=figures,
            untrusted=untrusted,
        )
