"""The aggregator ("feedbackAggregator"): checks signed feedback on paid requests, submits it, and pays for the gas.

The aggregator accepts all valid feedback, positive or negative, and publishes everything it accepts. `service` is the
aggregator itself; `settings` and `records` support it. `service` also needs the extra `index`, and `tables` needs only
that extra. Reviewers use `client`. Reviewers and the aggregator share `messages` and `refusals`. `blind` and
`blind_client` handle blind ratings. `docs/x402.md` is the manual.
"""
