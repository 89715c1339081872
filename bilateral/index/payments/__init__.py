"""Token payments to agents' wallets, as recorded on chain: transfers that the payer authorized by signature."""
