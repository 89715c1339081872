"""Patterns of the ecosystem: agents as raters, and watchtowers."""

from __future__ import annotations

from collections.abc import Sequence

from bilateral.client.aio.handle import AsyncSignalBatch
from bilateral.client.aio.runner import AsyncRunner
from bilateral.client.inputs import Signal
from bilateral.client.operations import agents, signals
from bilateral.client.results import Rater
from bilateral.core.values.arguments import checked_class


@checked_class
class AsyncWatchingMethods(AsyncRunner):
    """Patterns of the ecosystem: agents as raters, and watchtowers."""

    async def resolve_rater(self, address: str, *, load_file: bool = True) -> Rater:
        """Find out which agent stands behind an address that gave feedback (best practices, "Agent-as-Rater").

        Args:
            load_file: True to load the agent's registration file, for its name and image.

        Returns:
            The address with the agent that it speaks as (`agentOf`), if any. A registry without that function, as the
            first ones are, is searched for agents whose wallet the address is now, by its logs.
        """
        return await self._run(agents.resolve(self.state, address, load_file=load_file))

    async def publish_signals(self, signals_of_period: Sequence[Signal], period: str) -> AsyncSignalBatch:
        """Publish a watchtower's measurements of one period (best practices, "Watchtower Monitoring").

        Each becomes a feedback of the signer's with `tag1` as the signal's tag and `tag2` as the period. A
        signal of an agent, tag and period that the chain already holds from the signer is not published again, so a
        run that was cut off is completed by running it again. A revoked signal counts as not published. All signals
        are checked before the first is sent. The signer's pending transactions are waited for.

        Args:
            signals_of_period: The measurements, at most one for each agent and tag.
            period: The name of the period, such as `2026-W47` (see `week_of`); not empty.

        Returns:
            The sent signals, and those that the chain held already.

        Raises:
            UnrepresentableValueError: A value means nothing under its tag.
            InvalidArgumentError: The period is empty, a tag is not a watchtower's, or a signal comes twice.
            ContractRevertError: The registry would refuse one of them; none was sent.
            BatchInterruptedError: Sending stopped in the middle. It has the hashes of those that were sent.
        """
        return await self._write_signals(signals.publish(self.state, signals_of_period, period))
