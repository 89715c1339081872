"""Untrusted text, canonical JSON, and log lines that are safe to display."""

from bilateral.core.text.chain import ChainText, printable, quoted

__all__ = ["ChainText", "printable", "quoted"]
