"""The aggregator of feedback on paid requests: clients sign, it checks and pays the gas ("feedbackAggregator").

It accepts all valid feedback, whatever its sentiment, and publishes everything it accepted. `service` is the
aggregator, with `settings` and `records`; it needs the extra `index`, which suffices for `tables`. `client` is the
reviewer's side. Both sides use `messages` and `refusals`. Sealed ratings have modules of their own. `docs/x402.md` is
the manual.
"""
