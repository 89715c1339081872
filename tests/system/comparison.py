"""Compares all that the registries can be asked with the model, in one call a step."""

from __future__ import annotations

from eth_utils import keccak, to_canonical_address

from tests.calls import Refused, encoded, remembered
from tests.system.questions import Questions


class Comparison:
    """What the registries must answer, kept until a call changes it.

    What the model says of a registry is worked out anew only after a call to that registry was accepted. The registries
    are asked everything each time, so that a change where there should be none is found.
    """

    def __init__(self, chain, model, people):
        self.chain = chain
        self.model = model
        self.questions = Questions(model, chain.addresses, people)
        self.expected, self.agent_count = {}, 0

    def expect_change_of(self, registry):
        """A call to a registry was accepted. A new agent is asked about everywhere."""
        self.expected.pop(registry, None)
        before, self.agent_count = self.agent_count, len(self.model.identity.agents)
        if self.agent_count != before:
            self.expected.clear()

    def expect_anything(self):
        """Something happened that was no single call."""
        self.expected.clear()

    def compare(self):
        """Ask everything of every registry."""
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
        return asked, b"".join(fingerprint(*outcome(each)) for each in answers.values()), answers

    def _compare_one_by_one(self):
        for registry, (_, _, answers) in self.expected.items():
            for question, expected in answers.items():
                given = self.chain.call(self.chain.witness, self.chain.addresses[registry], encoded(*question))
                assert given == outcome(expected), (registry, question)
        raise AssertionError("the witness heard what nobody said")


@remembered
def on_the_wire(address, question):
    """A question as `MockWitness` takes it."""
    data = encoded(*question)
    return address + len(data).to_bytes(2) + data


@remembered
def fingerprint(kind, data):
    """The hash by which `MockWitness` passes on what it heard."""
    return keccak((b"\1" if kind == "result" else b"\0") + data)


def outcome(expected):
    return ("error", expected.data) if isinstance(expected, Refused) else ("result", expected)
