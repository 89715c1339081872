"""Every question that the registries can be asked about some people, and the answers that the model gives."""

from __future__ import annotations

from ape.utils import ZERO_ADDRESS
from eth_abi import encode
from eth_utils import keccak

from tests.calls import Refused, answer

DOMAINS = ["alpha.example", "ALPHA.example", "beta.example"]
KEYS = ["category"]
TAGS = ["", "uptime", "a tag of more than thirty-two bytes, which takes two words"]
WORD_TAGS = [tag.encode().ljust(32, b"\0")[:32] for tag in TAGS]
REQUEST_HASHES = [bytes(32), *(keccak(text=f"request {number}") for number in range(7))]

OF_ALL = "address[],uint64[],int128[],uint8[],string[],string[],bool[]"
OF_AUTHORISED = "(uint64,address,uint8,bytes32,bytes32,uint64)"
OF_STATUS = "address,uint256,uint8,bytes32,string,uint256"


class Questions:
    """The questions, by registry.

    Each method returns the questions about one registry, `(signature, *arguments)`, with the encoded answer or the
    refusal. There are questions about every agent, about one that does not exist, and about every person.
    """

    def __init__(self, model, addresses, people):
        self.model, self.addresses, self._people = model, addresses, people

    @property
    def people(self):
        return tuple(self._people)

    @property
    def agents(self):
        """All agents, and the next one, which there is not yet."""
        return range(1, len(self.model.identity.agents) + 2)

    def identity(self):
        return self.model.identity.answers(self.people, DOMAINS, KEYS)

    def open(self):
        answers = self._voided("open")
        for agent in self.agents:
            answers |= self._ratings_by(agent) | self._open_feedback(self.model.open.records, agent)
        return answers

    def plain(self):
        answers = self._voided("plain")
        for agent in self.agents:
            answers |= self._open_feedback(self.model.plain.records, agent)
        return answers

    def authorised(self):
        model, answers = self.model.authorised.records, {}
        for agent in self.agents:
            records = [tuple(record.values()) for record in model.feedback[agent]]
            answers["getSummary(uint256)", agent] = answer("uint64,uint8", *model.summary(agent))
            answers["getFeedbackCount(uint256)", agent] = answer("uint64", len(records))
            answers["getFeedbackPage(uint256,uint256,uint256)", agent, 0, 99] = page(records)
            for position, record in enumerate(records):
                answers["getFeedback(uint256,uint64)", agent, position] = answer(OF_AUTHORISED, record)
            beyond = Refused("PositionOutOfBounds(uint256,uint64,uint64)", agent, len(records), len(records))
            answers["getFeedback(uint256,uint64)", agent, len(records)] = beyond
            for person in self.people:
                own = [record for record in records if record[1] == person]
                answers["getLastIndex(uint256,address)", agent, person] = answer("uint64", len(own))
                asked = ("getClientFeedbackPage(uint256,address,uint256,uint256)", agent, person, 0, 99)
                answers[asked] = page(own)
        return answers

    def validation(self):
        model, answers = self.model.validation.records, {}
        for request_hash in REQUEST_HASHES:
            answers["getValidationStatus(bytes32)", request_hash] = self._status(request_hash)
        for person in self.people:
            hashes = tuple(model.validator_requests(person))
            answers["getValidatorRequests(address)", person] = answer("bytes32[]", hashes)
        for agent in self.agents:
            hashes = tuple(model.agent_validations(agent))
            answers["getAgentValidations(uint256)", agent] = answer("bytes32[]", hashes)
            for validators, tag in ((), ""), ((), TAGS[1]), (self.people[:3], ""), (self.people[3:], TAGS[2]):
                summary = answer("uint64,uint8", *model.summary(agent, validators, tag))
                answers["getSummary(uint256,address[],string)", agent, validators, tag] = summary
        return answers

    def witness(self):
        """No registry has any ether."""
        return {("etherOf(address)", address): answer("uint256", 0) for address in self.addresses.values()}

    def _status(self, request_hash):
        try:
            return answer(OF_STATUS, *self.model.validation.status(request_hash).values())
        except Refused as refused:
            return refused

    def _ratings_by(self, server):
        answers, agents = {}, tuple(self.agents)
        for kind, getter in ("client", "getClientRating"), ("validator", "getValidatorRating"):
            of_kind = self.model.ratings.given[kind]
            read = [((server, agent) in of_kind, of_kind.get((server, agent), 0)) for agent in agents]
            for subject, rating in zip(agents, read, strict=True):
                answers[f"{getter}(uint256,uint256)", subject, server] = answer("bool,uint8", *rating)
            if kind == "client":
                rated, ratings = zip(*read, strict=True)
                asked = ("getClientRatings(uint256[],uint256)", agents, server)
                answers[asked] = answer("bool[],uint8[]", rated, ratings)
        for client in agents:
            accepted = (client, server) in self.model.ratings.accepted
            auth_id = self._auth_id(client, server) if accepted else bytes(32)
            answers["isFeedbackAuthorized(uint256,uint256)", client, server] = answer("bool,bytes32", accepted, auth_id)
            answers["getFeedbackAuthId(uint256,uint256)", client, server] = answer("bytes32", auth_id)
        return answers

    def _auth_id(self, client, server):
        pair = (client, server, self.addresses["open"], self.model.chain_id)
        return keccak(encode(["uint256", "uint256", "address", "uint256"], pair))

    def _open_feedback(self, model, agent):
        answers = {("getClients(uint256)", agent): answer("address[]", tuple(model.clients(agent)))}
        some = (*self.people[3::-1], self.people[0])
        for clients, tag1, tag2, revoked in (
            ((), "", "", True),
            ((), "", "", False),
            ((), TAGS[1], "", True),
            ((), "", TAGS[2], False),
            ((), TAGS[1], TAGS[2], True),
            (some, "", "", True),
            (some, TAGS[2], TAGS[1], False),
        ):
            asked = ("readAllFeedback(uint256,address[],string,string,bool)", agent, clients, tag1, tag2, revoked)
            rows = model.read_all(agent, clients, tag1, tag2, revoked)
            answers[asked] = answer(OF_ALL, *(zip(*rows, strict=True) if rows else [()] * 7))
        for tag1, tag2 in ("", ""), (TAGS[1], ""), ("", TAGS[2]), (TAGS[1], TAGS[2]), (TAGS[2], TAGS[1]):
            answers |= self._summary(model, agent, self.people, tag1, tag2)
        of_nobody = ("getSummary(uint256,address[],string,string)", agent, (), "", "")
        answers[of_nobody] = Refused("Error(string)", "clientAddresses required")
        for person in self.people:
            answers |= self._summary(model, agent, (person,), "", "")
            entries = model.entries(agent, person)
            answers["getLastIndex(uint256,address)", agent, person] = answer("uint64", len(entries))
            asked = ("readFeedback(uint256,address,uint64)", agent, person)
            answers[*asked, len(entries) + 1] = Refused("Error(string)", "index out of bounds")
            for index, entry in enumerate(entries, 1):
                content = (entry.given.value, entry.given.decimals, entry.given.tag1, entry.given.tag2)
                answers[*asked, index] = answer("int128,uint8,string,string,bool", *content, entry.revoked)
                answers |= self._responses(model, agent, person, index, ())
                answers |= self._responses(model, agent, person, index, some)
            answers |= self._responses(model, agent, person, 0, ())
            answers |= self._responses(model, agent, person, 0, some)
            answers |= self._responses(model, agent, person, len(entries) + 1, ())
            answers |= self._responses(model, agent, None, 0, (person,))
        return answers | self._responses(model, agent, None, 0, ())

    def _voided(self, registry):
        """The latest deadline that each person has voided."""
        voided = getattr(self.model, registry).voided
        return {
            ("getVoidedDeadline(address)", person): answer("uint256", voided.get(person, 0)) for person in self.people
        }

    def _summary(self, model, agent, clients, tag1, tag2):
        count, value, decimals = model.summary(agent, clients, tag1, tag2)
        asked = ("getSummary(uint256,address[],string,string)", agent, clients, tag1, tag2)
        return {asked: answer("uint64,int128,uint8", count, value, decimals)}

    def _responses(self, model, agent, client, index, responders):
        asked = ("getResponseCount(uint256,address,uint64,address[])", agent, client or ZERO_ADDRESS, index, responders)
        return {asked: answer("uint64", model.responses(agent, client, index, responders))}


def page(records):
    """The encoding of a page of authorised feedback."""
    return answer(f"{OF_AUTHORISED}[]", tuple(records))
