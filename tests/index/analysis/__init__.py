"""Trust analysis of an indexed chain."""
