"""The aggregator for feedback on paid requests: checks signed feedback and pays for the gas ("feedbackAggregator").

It accepts all valid feedback, whatever its sentiment, and publishes everything it accepts. `service` is the aggregator
itself; `settings` and `records` support it. `service` also needs the extra `index`, and `tables` needs only that extra.
Reviewers use `client`. Reviewers and the aggregator share `messages` and `refusals`. `blind` and `blind_client` handle
blind ratings. `docs/x402.md` is the manual.
"""
