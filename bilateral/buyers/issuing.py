"""Signed results about buyers (EIP-712 and JSON Web Signature), and pseudonyms for buyers.

A pseudonym is the HMAC-SHA-256 of the buyer, the scope and the UTC day, with that day's secret as the key. It is the
same for all addresses that use the buyer's credentials. The secret is random, shared by all workers through the
database, and deleted two days later. After that, nobody can find out to which buyer a pseudonym belonged.
"""

import hmac
import secrets
from base64 import urlsafe_b64encode
from dataclasses import asdict, dataclass
from http import HTTPStatus
from typing import Any, ClassVar, Final

from eth_account import Account
from eth_account.messages import SignableMessage
from eth_keys.main import lazy_key_api as keys
from eth_utils.address import to_canonical_address
from joserfc import jws
from joserfc.jwk import ECKey
from sqlalchemy import Engine, delete, insert, select
from sqlalchemy.exc import IntegrityError

from bilateral.buyers.credentials import DAY_SECONDS
from bilateral.buyers.errors import BuyerRefusalError
from bilateral.buyers.messages import domain_of
from bilateral.buyers.records import Standing, buyer_id
from bilateral.buyers.score import score_of, tier_of
from bilateral.buyers.tables import credential_holder, credential_secret
from bilateral.core.signatures.messages import Address, String, TypedMessage, Uint8, Uint64, Uint256

VALID_SECONDS: Final = 3_600
"""How long a result is valid, in seconds. If a buyer's score drops, the old result can still be used for this long."""

_ALGORITHM: Final = "ES256K"


@dataclass(frozen=True)
class BuyerResult(TypedMessage):
    """A buyer's score as of a block.

    Attributes:
        buyer_chain_id: The chain of the buyer's payments.
        score: The score, from 0 to 100.
        tier: `new`, `verified`, `trusted` or `premium`.
        payments: The number of payments by the buyer.
        volume: The sum of the buyer's payments, in millionths of a dollar.
        sellers: The number of sellers that the buyer paid.
        policy: The scoring policy's name.
        as_of_block: The last block whose payments are included.
        issued_at: The time at which the result was issued, in Unix seconds.
        expires_at: The first second in which the result is no longer valid.
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
    """Signs results with the service's key.

    Args:
        secret: The 32-byte private key.

    Attributes:
        address: The address of the key that signs EIP-712 messages.
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
            "volume": str(result.volume),  # many JSON parsers round numbers above 2^53
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
    return urlsafe_b64encode(value).decode().rstrip("=")


MAX_HOLDERS: Final = 8
"""How many addresses may hold credentials of one buyer, per scope and day."""

_RETAINED_DAYS: Final = 2
"""The number of days for which secrets are retained: today and yesterday, because workers' clocks may differ."""

_SECRET_BYTES: Final = 32  # as many bytes as a pseudonym has


class Pseudonyms:
    """Assigns pseudonyms to buyers, and counts the holders of each buyer's credentials."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def admit(self, buyer: str, holder: str, scope: bytes, now: int) -> bytes:
        """Record a credential's holder, and return the buyer's pseudonym. Each holder is counted only once."""
        day = now // DAY_SECONDS
        secret = self._secret_of(day)
        pseudonym = pseudonym_of(secret, buyer, scope, day)
        mark = _mac(secret, b"holder" + pseudonym + to_canonical_address(holder))
        while (is_noted := self._note(day, pseudonym, mark)) is None:
            pass  # a parallel request took the free slot; look for another one
        if not is_noted:
            detail = (
                f"the buyer has had {MAX_HOLDERS} holders in this scope today, the maximum: use one of them, or wait "
                "until the next UTC day"
            )
            seconds = DAY_SECONDS - now % DAY_SECONDS
            raise BuyerRefusalError(HTTPStatus.TOO_MANY_REQUESTS, "too_many_holders", detail, retry_seconds=seconds)
        return pseudonym

    def _note(self, day: int, pseudonym: bytes, mark: bytes) -> bool | None:
        """Record a holder. Return False if all slots are used, or None if a parallel request took the free slot."""
        table = credential_holder
        of_buyer = table.c.day == day, table.c.pseudonym == pseudonym
        try:
            with self._engine.begin() as connection:
                marks = connection.execute(select(table.c.mark).where(*of_buyer)).scalars().all()
                if mark in map(bytes, marks):
                    return True
                if len(marks) >= MAX_HOLDERS:
                    return False
                values = {"day": day, "pseudonym": pseudonym, "place": len(marks), "mark": mark}
                connection.execute(insert(table).values(values))
        except IntegrityError:
            return None
        return True

    def _secret_of(self, day: int) -> bytes:
        """Return a day's secret. The first worker that needs the secret creates it."""
        secret = self._read_secret(day)
        if secret is not None:
            return secret
        try:
            with self._engine.begin() as connection:
                for table in (credential_secret, credential_holder):
                    connection.execute(delete(table).where(table.c.day <= day - _RETAINED_DAYS))
                values = {"day": day, "secret": secrets.token_bytes(_SECRET_BYTES)}
                connection.execute(insert(credential_secret).values(values))
        except IntegrityError:
            pass  # another worker created it
        return self._read_secret(day) or b""

    def _read_secret(self, day: int) -> bytes | None:
        query = select(credential_secret.c.secret).where(credential_secret.c.day == day)
        with self._engine.connect() as connection:
            secret = connection.execute(query).scalar_one_or_none()
        return None if secret is None else bytes(secret)


def pseudonym_of(secret: bytes, buyer: str, scope: bytes, day: int) -> bytes:
    """Return a buyer's pseudonym: HMAC-SHA-256 of the buyer (20 bytes), the scope (32) and the day (8)."""
    return _mac(secret, to_canonical_address(buyer) + scope + day.to_bytes(8))


def _mac(secret: bytes, message: bytes) -> bytes:
    if len(secret) != _SECRET_BYTES:
        raise RuntimeError("today's secret is missing: it was deleted while it was being read")
    return hmac.digest(secret, message, "sha256")
