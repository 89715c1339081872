"""Gas cases of private tier proofs. The proofs are test vectors, because making one needs Node and seconds."""

import json
from pathlib import Path
from typing import Any, Final

import ape
from eth_utils.crypto import keccak

from bench.buyers import Market
from bench.measurement import GasCase, World

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

    def post(self) -> int:
        """Post the roots of the day, and return the gas."""
        roots = [int(root) for root in VECTORS["roots"]]
        receipt = self.proofs.postTierRoots(VECTORS["epoch"], self.policy, roots, sender=self.deployer)
        return int(receipt.gas_used)

    def gate(self) -> Any:
        """Return a service at the address that the vectors' proofs name."""
        deployed = self.deployer.deploy(ape.project.PrivateService, self.proofs, self.policy)
        web3 = ape.chain.provider.web3
        code = web3.eth.get_code(deployed.address).to_0x_hex()
        web3.provider.make_request("anvil_setCode", [VECTORS["gate"], code])
        return ape.project.PrivateService.at(VECTORS["gate"])


def _post(_: World) -> int:
    return PrivateMarket().post()


def _verify(_: World) -> int:
    """Send a transaction to Semaphore's verifier alone."""
    market, proof = PrivateMarket(), VECTORS["proofs"]["trusted"]
    a, b, c, d, e, f, g, h = map(int, proof["points"])
    signals = [int.from_bytes(keccak(_word(proof[name]))) >> 8 for name in ("message", "scope")]
    arguments = ([a, b], [[c, d], [e, f]], [g, h], [int(proof["root"]), int(proof["nullifier"]), *signals], 20)
    data = market.verifier.verifyProof.encode_input(*arguments)
    receipt = market.validator.transfer(market.verifier.address, 0, data=data)
    return int(receipt.gas_used)


def _use(_: World) -> int:
    market, proof = PrivateMarket(), VECTORS["proofs"]["trusted"]
    market.post()
    gate, holder = market.gate(), ape.accounts.test_accounts[HOLDER]
    words = (int(proof["nullifier"]), [int(point) for point in proof["points"]])
    return int(gate.serve(words, VECTORS["epoch"], _word(VECTORS["request"]), sender=holder).gas_used)


CASES = [
    GasCase("verifyProof of Semaphore, alone", 250_000, _verify),
    GasCase("serve by a private tier", 285_000, _use),
    GasCase("postTierRoots, three roots", 100_000, _post),
]
"""The calls of a service by a private proof, and of the attestor."""
