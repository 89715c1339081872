"""Untrusted text, canonical JSON, and log lines."""

from bilateral.core.text.chain import ChainText, printable, quoted

__all__ = ["ChainText", "printable", "quoted"]
