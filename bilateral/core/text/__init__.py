"""Texts that strangers wrote, JSON in one form, and lines of a log."""

from bilateral.core.text.chain import ChainText, printable, quoted

__all__ = ["ChainText", "printable", "quoted"]
