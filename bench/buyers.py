"""Gas cases of the buyer reputation registry and of private tiers. Proofs are test vectors."""

import json
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import ape
from ape.api import AccountAPI
from eth_abi.abi import encode
from eth_utils.crypto import keccak

from bench.measurement import GasCase, World, execution_gas
from bilateral.core.signatures import AgentWalletSet, Domain
from scripts._payments import sign_payment

AGENT = 1
PRICE = 50_000
"""Five cents, in millionths of a dollar."""

BATCH = 32
BASE_CHAIN = 8453
PAID_AT = 1_760_000_000
"""The time of attested payments, in October 2025."""

DEPTH = 20
"""The depth of a tree of a million buyers."""


class Market(World):
    """A seller that has been paid before, and a buyer with money. The deployer holds both roles."""

    def __init__(self, *, own_wallet: bool = False) -> None:
        """Register the seller, and make a first payment by another buyer.

        Args:
            own_wallet: True if the seller's wallet is not its owner.
        """
        super().__init__()
        self.identity.register(sender=self.owner)
        self.payee: AccountAPI = self.receiver if own_wallet else self.owner
        if own_wallet:
            self._set_wallet()
        for buyer in (self.client, self.other_client):
            self.token.mint(buyer, 100 * PRICE, sender=self.deployer)
        self.pay(self.other_client)

    @cached_property
    def token(self) -> Any:
        """The payment token."""
        return self.deployer.deploy(ape.project.MockPaymentToken)

    @cached_property
    def registry(self) -> Any:
        """The buyer reputation registry."""
        arguments = (self.identity, [self.token], self.deployer, self.deployer)
        return self.deployer.deploy(ape.project.BuyerReputationRegistry, *arguments)

    def pay(self, buyer: AccountAPI, *, in_parts: bool = False, number: int = 0) -> Any:
        """Settle a payment, sent by a facilitator, and return its gas."""
        chain_id = ape.chain.chain_id
        payment = sign_payment(self.token, chain_id, buyer, self.payee.address, PRICE, number)
        arguments = payment.settled_in(self.token, in_parts=in_parts)
        return self.registry.settle(*arguments, sender=self.validator)

    def _set_wallet(self) -> None:
        deadline = ape.chain.blocks.head.timestamp + 120
        consent = AgentWalletSet(AGENT, self.payee.address, self.owner.address, deadline)
        signable = consent.signable(Domain(ape.chain.chain_id, self.identity.address))
        signature = self.payee.sign_message(signable).encode_rsv()
        self.identity.setAgentWallet(AGENT, self.payee, deadline, signature, sender=self.owner)


def _transfer(_: World) -> Any:
    """Submit a payment to the token itself."""
    market = Market()
    payment = sign_payment(market.token, ape.chain.chain_id, market.client, market.payee.address, PRICE, 1)
    return market.token.transferWithAuthorization(*payment.whole, sender=market.validator)


def _settle(_: World, earlier: int, *, own_wallet: bool = False, in_parts: bool = False) -> Any:
    market = Market(own_wallet=own_wallet)
    return [market.pay(market.client, in_parts=in_parts, number=number) for number in range(earlier + 1)][-1]


def _record_payment(_: World, earlier: int) -> Any:
    market = Market()
    hashes = [keccak(number.to_bytes(32)) for number in range(earlier + 1)]
    return [market.registry.recordPayment(market.client, PRICE, hash_, sender=market.deployer) for hash_ in hashes][-1]


def packed(buyer: str, amount: int, paid_at: int, position: int) -> int:
    """Pack a payment as `AttestedPayment` draws."""
    return int(buyer, 16) << 96 | amount << 40 | paid_at << 8 | position


def _record_payments(_: World, *, same_buyer: bool) -> Any:
    market = Market()
    buyers = [f"0x{keccak(bytes([0 if same_buyer else number]))[:20].hex()}" for number in range(BATCH)]
    if same_buyer:
        market.registry.recordPayment(buyers[0], PRICE, bytes(32), sender=market.deployer)
    records = [(keccak(bytes([1, i])), packed(buyer, PRICE, PAID_AT, 1)) for i, buyer in enumerate(buyers)]
    return int(market.registry.recordManyPayments(BASE_CHAIN, records, sender=market.deployer).gas_used) // BATCH


def _record_feedback(_: World, earlier: int) -> Any:
    market = Market()
    market.registry.recordPayment(market.client, PRICE, bytes(32), sender=market.deployer)
    record = market.registry.recordFeedback
    return [record(market.client, market.owner, 90, sender=market.deployer) for _ in range(earlier + 1)][-1]


def _anchor(_: World, earlier: int) -> Any:
    market = Market()
    anchor, epochs = market.registry.anchorRoot, range(1, earlier + 2)
    return [anchor(epoch, keccak(bytes([epoch])), sender=market.deployer) for epoch in epochs][-1]


def _score(_: World, method: str) -> Any:
    market = Market()
    registry, client, attestor = market.registry, market.client, market.deployer
    market.pay(client, number=1)
    registry.recordPayment(client, PRICE, bytes(32), sender=attestor)
    registry.recordFeedback(client, market.owner, 90, sender=attestor)
    registry.recordReviews([(client, 32, 2_320, 1)], sender=attestor)
    return execution_gas(getattr(registry, method), client)


def _leaf(state: tuple[Any, ...]) -> bytes:
    """Return the leaf of a state, as OpenZeppelin's standard tree has it."""
    kinds = ["address", "uint256", "uint8", "uint8", *["uint256"] * 9, "bytes32", "uint256"]
    return keccak(keccak(encode(kinds, [str(state[0].address), *state[1:]])))


def _verify(_: World) -> Any:
    market = Market()
    state = (
        *(market.client, BASE_CHAIN, 56, 2, 47, 234_500_000, PAID_AT, PAID_AT),
        *(32, 2_320, 0, 0, 1, keccak(b"p"), 9**8),
    )
    proof = [keccak(bytes([depth])) for depth in range(DEPTH)]
    node = _leaf(state)
    for sibling in proof:
        node = keccak(b"".join(sorted((node, sibling))))
    market.registry.anchorRoot(1, node, sender=market.deployer)
    return execution_gas(market.registry.verifyBuyer, state, 1, proof)


BUYERS_CASES = [
    GasCase("the payment alone, by the token itself", 66_000, _transfer),
    GasCase.of("settle, a buyer's first", 110_000, _settle, earlier=0),
    GasCase.of("settle, later", 92_500, _settle, earlier=1),
    GasCase.of("settle with (v, r, s), a buyer's first", 110_000, _settle, earlier=0, in_parts=True),
    GasCase.of("settle with (v, r, s), later", 92_500, _settle, earlier=1, in_parts=True),
    GasCase.of("settle to a wallet that is not the owner, first", 112_300, _settle, earlier=0, own_wallet=True),
    GasCase.of("settle to a wallet that is not the owner, later", 94_800, _settle, earlier=1, own_wallet=True),
    GasCase.of("recordPayment, a buyer's first", 70_000, _record_payment, earlier=0),
    GasCase.of("recordPayment, later", 53_000, _record_payment, earlier=1),
    GasCase.of("recordManyPayments, 32 new buyers, each", 47_500, _record_payments, same_buyer=False),
    GasCase.of("recordManyPayments, 32 of one buyer, each", 25_500, _record_payments, same_buyer=True),
    GasCase.of("recordFeedback, a seller's first", 55_000, _record_feedback, earlier=0),
    GasCase.of("recordFeedback, a changed vote", 32_000, _record_feedback, earlier=1),
    GasCase.of("anchor, the first", 69_000, _anchor, earlier=0),
    GasCase.of("anchor, later", 52_000, _anchor, earlier=1),
    GasCase.of("getBuyerScore, execution", 6_000, _score, method="getBuyerScore"),
    GasCase.of("getBuyerTier, execution", 6_500, _score, method="getBuyerTier"),
    GasCase("verifyBuyer, depth 20, execution", 21_000, _verify),
]
"""The calls of the registry, and the payment that it submits."""


VECTORS: Final = json.loads((Path(__file__).parents[1] / "tests" / "buyers" / "tier_vectors.json").read_text())

DAY_SECONDS: Final = 86_400
HOLDER: Final = 14
"""The test account that the vectors' proof is bound to."""


def _word(text: str) -> bytes:
    return bytes.fromhex(text.removeprefix("0x"))


class PrivateMarket(Market):
    """A market with contracts for private tiers, on the day of the vectors."""

    def __init__(self) -> None:
        super().__init__()
        self.verifier: Any = self.deployer.deploy(ape.project.TierProofVerifier)
        self.proofs: Any = self.deployer.deploy(ape.project.BuyerTierProofs, self.registry, self.verifier)
        self.policy = _word(VECTORS["policy"])
        ape.chain.mine(timestamp=VECTORS["epoch"] * DAY_SECONDS)

    def post(self) -> Any:
        """Post the roots of the day, and return the gas."""
        roots = [int(root) for root in VECTORS["roots"]]
        return self.proofs.postTierRoots(VECTORS["epoch"], self.policy, roots, sender=self.deployer)

    def gate(self) -> Any:
        """Return a service at the address that the vectors' proofs name."""
        deployed = self.deployer.deploy(ape.project.PrivateService, self.proofs, self.policy)
        web3 = ape.chain.provider.web3
        code = web3.eth.get_code(deployed.address).to_0x_hex()
        web3.provider.make_request("anvil_setCode", [VECTORS["gate"], code])
        return ape.project.PrivateService.at(VECTORS["gate"])


def _post(_: World) -> Any:
    return PrivateMarket().post()


def _verify_tier_proofs(_: World) -> Any:
    """Send a transaction to Semaphore's verifier alone."""
    market, proof = PrivateMarket(), VECTORS["proofs"]["trusted"]
    a, b, c, d, e, f, g, h = map(int, proof["points"])
    signals = [int.from_bytes(keccak(_word(proof[name]))) >> 8 for name in ("message", "scope")]
    arguments = ([a, b], [[c, d], [e, f]], [g, h], [int(proof["root"]), int(proof["nullifier"]), *signals], 20)
    data = market.verifier.verifyProof.encode_input(*arguments)
    return market.validator.transfer(market.verifier.address, 0, data=data)


def _use(_: World) -> Any:
    market, proof = PrivateMarket(), VECTORS["proofs"]["trusted"]
    market.post()
    gate, holder = market.gate(), ape.accounts.test_accounts[HOLDER]
    words = (int(proof["nullifier"]), [int(point) for point in proof["points"]])
    return gate.serve(words, VECTORS["epoch"], _word(VECTORS["request"]), sender=holder)


TIER_PROOFS_CASES = [
    GasCase("verifyProof of Semaphore, alone", 250_000, _verify_tier_proofs),
    GasCase("serve by a private tier", 285_000, _use),
    GasCase("postTierRoots, three roots", 100_000, _post),
]
"""The calls of a service by a private proof, and of the attestor."""
