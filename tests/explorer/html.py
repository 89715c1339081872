"""Reads pages as a browser does: elements with their attributes, and the text between them."""

from __future__ import annotations

from html.parser import HTMLParser


class Page(HTMLParser):
    """A parsed page.

    Attributes:
        elements: Each element's name and attributes, in order.
        text: All text, without tags.
    """

    def __init__(self, source):
        super().__init__()
        self.elements, self.parts = [], []
        self.feed(source)
        self.text = " ".join(" ".join(self.parts).split())

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))

    def handle_data(self, data):
        self.parts.append(data)

    def attributes(self, name):
        """Return the values of an attribute in all elements."""
        return [values[name] for _, values in self.elements if name in values]

    def of(self, tag):
        """Return the attributes of all elements with a name."""
        return [values for name, values in self.elements if name == tag]
