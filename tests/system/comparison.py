"""Compares all answers of the registries with the model, in one call a step."""

from __future__ import annotations

from eth_utils import keccak, to_canonical_address

from tests.calls import Refused, encoded, remembered
from tests.system.questions import Questions


class Comparison:
    """The expected answers of the registries, cached until a call changes them.

    The model computes the answers of a registry again only after that registry accepted a call. The registries answer
    all questions each time, so that the comparison finds unexpected changes.
    """

    def __init__(self, chain, model, people):
        self.chain = chain
        self.model = model
        self.questions = Questions(model, chain.addresses, people)
        self.expected, self.agent_count = {}, 0

    def expect_change_of(self, registry):
        """Discard the answers of a registry that accepted a call. A new agent changes all questions."""
        self.expected.pop(registry, None)
        before, self.agent_count = self.agent_count, len(self.model.identity.agents)
        if self.agent_count != before:
            self.expected.clear()

    def expect_anything(self):
        """Discard all answers, after a change by more than one call."""
        self.expected.clear()

    def compare(self):
        """Compare all answers of every registry."""
        for registry in self.chain.addresses.keys() - self.expected.keys():
            self.expected[registry] = self._expect(registry)
        parts = list(self.expected.values())
        heard = self.chain.hear(b"".join(asked for asked, _, _ in parts), sum(len(listed) for _, _, listed in parts))
        if heard != b"".join(answers for _, answers, _ in parts):
            self._compare_one_by_one()

    def _expect(self, registry):
        answers = getattr(self.questions, registry)()
        address = to_canonical_address(self.chain.addresses[registry])
        asked = b"".join(on_the_wire(address, question) for question in answers)
        return asked, b"".join(fingerprint(*outcome(answer)) for answer in answers.values()), answers

    def _compare_one_by_one(self):
        for registry, (_, _, answers) in self.expected.items():
            for question, expected in answers.items():
                witness = self.chain.call(self.chain.witness, self.chain.addresses[registry], encoded(*question))
                assert witness == outcome(expected), (registry, question)
        raise AssertionError("the witness heard what nobody said")


@remembered
def on_the_wire(address, question):
    """Return a question in the form that `MockWitness` takes."""
    data = encoded(*question)
    return address + len(data).to_bytes(2) + data


@remembered
def fingerprint(kind, data):
    """Return the hash of an answer, as `MockWitness` returns it."""
    return keccak((b"\1" if kind == "result" else b"\0") + data)


def outcome(expected):
    return ("error", expected.data) if isinstance(expected, Refused) else ("result", expected)
