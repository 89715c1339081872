"""Measures of accounts and opinions, and the weak signs that it makes."""
