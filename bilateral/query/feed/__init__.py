"""The change feed: all changes in one order, with those that a reorganisation took back."""
