"""The aggregator for feedback on paid requests: checks signed feedback and pays the gas ("feedbackAggregator").

It accepts all valid feedback, whatever its sentiment, and publishes everything it accepts. `service` is the aggregator,
with `settings` and `records`; it needs the extra `index`, which suffices for `tables`. `client` is the reviewer's side.
Both sides use `messages` and `refusals`. Sealed ratings have their own modules. `docs/x402.md` is the manual.
"""
