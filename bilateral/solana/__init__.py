"""SATI and 8004-solana agents, and payments on Solana, decoded from the bytes of accounts and transactions.

The modules `addresses`, `token2022`, `sati`, `transactions` and `payments` parse bytes. Functions that query a node are
operations (`bilateral.node.steps`) over JSON-RPC. Only signing needs a Solana library.
"""
