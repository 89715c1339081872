"""The aggregator for feedback on paid requests: checks signed feedback and pays for the gas ("feedbackAggregator").

It accepts all valid feedback, whatever its sentiment, and publishes everything it accepts. `service` is the aggregator
itself; `settings` and `records` support it. `service` also needs the extra `index`; `tables` needs no other extra.
Reviewers use `client`. Reviewers and the aggregator share `messages` and `refusals`. Blind ratings are handled in
separate modules. `docs/x402.md` is the manual.
"""
