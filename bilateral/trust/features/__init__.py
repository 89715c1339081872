"""Features of accounts and opinions, and the weak signs derived from them."""
