"""Webhooks: changes of the feed, sent to the URLs of subscribers."""
