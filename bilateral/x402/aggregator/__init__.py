"""The aggregator of feedback on paid requests: clients sign, it checks and pays the gas ("feedbackAggregator").

It takes all valid feedback, whatever its sentiment, and shows all that it took. `service` is the aggregator, with
`settings` and the `records` of what it did; it needs the extra `index`. `client` is the side of those who give
feedback, `messages` and `refusals` are what both sides say. `docs/x402.md` is the manual.
"""
