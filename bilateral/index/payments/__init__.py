"""Token payments to agents' wallets, as recorded on chain: transfers authorized by the payer's signature."""
