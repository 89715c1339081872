"""Signed, portable results: the score of a buyer as EIP-712 and as a JSON Web Signature."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Final

from eth_account import Account
from eth_account.messages import SignableMessage
from eth_keys.main import lazy_key_api as keys
from joserfc import jws
from joserfc.jwk import ECKey

from bilateral.buyers.records import Standing, buyer_id
from bilateral.buyers.score import score_of, tier_of
from bilateral.core.signatures import Domain
from bilateral.core.signatures.messages import Address, String, TypedMessage, Uint8, Uint64, Uint256

VALID_SECONDS: Final = 3_600
"""The seconds for which a result is valid: a score that fell is shown for no longer."""

_ALGORITHM: Final = "ES256K"
_NOBODY: Final = "0x" + "00" * 20


@dataclass(frozen=True)
class BuyerResult(TypedMessage):
    """A buyer's score as of a block.

    Attributes:
        buyer_chain_id: The chain of its payments.
        score: 0 to 100.
        tier: `new`, `verified`, `trusted` or `premium`.
        payments: The number of its payments.
        volume: Their sum, in millionths of a dollar.
        sellers: The number of sellers that it paid.
        policy: The scoring policy.
        as_of_block: The last block whose payments are in it.
        issued_at: The time of the result, in Unix seconds.
        expires_at: The first second in which it is not valid any more.
    """

    buyer: Address
    buyer_chain_id: Uint256
    score: Uint8
    tier: String
    payments: Uint256
    volume: Uint256
    sellers: Uint256
    policy: String
    as_of_block: Uint64
    issued_at: Uint64
    expires_at: Uint64

    domain_name: ClassVar[str] = "BilateralBuyers"


def domain_of(chain_id: int) -> Domain:
    """Return the EIP-712 domain of results. It names the zero address, because no contract verifies results."""
    return Domain(chain_id, _NOBODY)  # type: ignore[arg-type]  # it is checksummed


def result_of(standing: Standing, now: int) -> BuyerResult:
    """Return the result to sign."""
    metrics = standing.weighed.metrics
    return BuyerResult(
        standing.buyer,  # type: ignore[arg-type]  # it is checksummed
        standing.chain_id,
        score_of(metrics),
        tier_of(metrics).value,
        metrics.payments,
        metrics.volume,
        standing.weighed.sellers,
        standing.policy.name,
        standing.block or 0,
        now,
        now + VALID_SECONDS,
    )


class ResultSigner:
    """Signs results with a key of the service.

    Args:
        secret: The private key, 32 bytes.

    Attributes:
        address: The address of the key, which signs EIP-712.
    """

    def __init__(self, secret: bytes) -> None:
        self._account = Account.from_key(secret)
        self.address: str = self._account.address
        point = keys.PrivateKey(secret).public_key.to_bytes()
        values = {"kty": "EC", "crv": "secp256k1", "x": _encoded(point[:32]), "y": _encoded(point[32:])}
        public = ECKey.import_key(dict(values))
        self.key_id = public.thumbprint()
        self._key = ECKey.import_key({**values, "d": _encoded(secret)})

    @property
    def key_set(self) -> dict[str, Any]:
        """The public key as a JSON Web Key Set (RFC 7517)."""
        public = self._key.as_dict(private=False)
        return {"keys": [{**public, "kid": self.key_id, "use": "sig", "alg": _ALGORITHM}]}

    def sign_message(self, message: SignableMessage) -> bytes:
        """Sign an EIP-712 message."""
        return bytes(self._account.sign_message(message).signature)

    def sign(self, result: BuyerResult, issuer: str) -> dict[str, Any]:
        """Sign a result."""
        domain = domain_of(result.buyer_chain_id)
        message = dict(zip(result.solidity_types, asdict(result).values(), strict=True))
        claims = {
            "iss": issuer,
            "sub": buyer_id(result.buyer_chain_id, result.buyer),
            "iat": result.issued_at,
            "exp": result.expires_at,
            "score": result.score,
            "tier": result.tier,
            "payments": result.payments,
            "volume": str(result.volume),  # readers of JSON lose digits of numbers above 2^53
            "sellers": result.sellers,
            "policy": result.policy,
            "asOfBlock": result.as_of_block,
        }
        import msgspec  # noqa: PLC0415  # with the extra

        header = {"alg": _ALGORITHM, "kid": self.key_id, "typ": "JWT"}
        token = jws.serialize_compact(header, msgspec.json.encode(claims), self._key, algorithms=[_ALGORITHM])
        return {
            **result.described(domain),
            "message": {**message, "volume": str(result.volume)},
            "signer": self.address,
            "signature": "0x" + self.sign_message(result.signable(domain)).hex(),
            "jws": token,
        }


def _encoded(value: bytes) -> str:
    """Return bytes in base64url without padding."""
    return urlsafe_b64encode(value).decode().rstrip("=")
