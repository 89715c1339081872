"""Tests of agents on Solana, with LiteSVM behind an HTTP node of JSON-RPC. Numbers S1 to S44 are in their names."""
