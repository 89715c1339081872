"""Payments of tokens to wallets of agents, as the chain shows them: transfers that a payer's signature authorized."""
