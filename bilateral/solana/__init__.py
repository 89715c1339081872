"""Agents of SATI on Solana and payments to them, read from the bytes of accounts and transactions.

The modules `addresses`, `token2022`, `sati`, `transactions` and `payments` are functions over bytes. `reading` and
`history` have operations (`bilateral.node.steps`) over JSON-RPC. Nothing here needs a library for Solana.
"""
