"""Trust analysis of an indexed chain: its tables, the sources of accounts' first funds, and the stored results."""
