"""Probes of agents that speak A2A: their card, its signature, and whether somebody answers at its first interface."""

import base64
from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal, TypeAlias
from urllib.parse import urlsplit

import rfc8785
from joserfc import jws
from joserfc.errors import JoseError
from joserfc.jwk import KeySet

from bilateral.core import errors
from bilateral.core.text.encoding import decode_object
from bilateral.documents.http import host_of
from bilateral.index.measurements.values import Outcome
from bilateral.watchtower.outcomes import Code, Probe
from bilateral.watchtower.probes.asking import Asker, digest, is_same_domain, result_of_error
from bilateral.watchtower.probes.documents import read_document, well_known

Signature: TypeAlias = Literal["valid", "invalid", "unverified", "none"]

_ALGORITHMS: Final = ("ES256", "ES384", "ES512", "EdDSA", "Ed25519", "PS256", "RS256")
_MOST_SIGNATURES: Final = 2


def probe_a2a(asker: Asker, previous: Mapping[str, Any], *, is_deep: bool) -> Probe:
    """Get the card of an agent."""
    urls = well_known(asker.target.url, "agent-card.json", "agent.json")
    reading = read_document(asker, urls, previous, is_deep=is_deep)
    if isinstance(reading, Probe):
        return reading
    card = reading.document
    if card is None:
        return reading.result(Outcome.UP, Code.OK)
    url = _interface(card)
    if url is None or not isinstance(card.get("name"), str) or not isinstance(card.get("skills"), list):
        return reading.result(Outcome.DOWN, Code.NOT_PROTOCOL)
    facts: dict[str, Any] = {"card": digest({**card, "signatures": None})}
    code = _code_of(card, url, reading.answer.url)
    if is_deep:
        facts["signature"] = _signature(asker, card, reading.answer.url)
        is_foreign = code is Code.OTHER_DOMAIN  # a stranger's card must not make us ask third parties
        deep_code = Code.SIGNATURE_INVALID if facts["signature"] == "invalid" else None
        deep_code = deep_code or (None if is_foreign else _code_of_interface(asker, url))
        facts["deep_code"], code = deep_code, deep_code or code
    return reading.result(Outcome.DEGRADED if code else Outcome.UP, code or Code.OK, **facts)


def _interface(card: Mapping[str, Any]) -> str | None:
    """Return the URL of the first interface of a card of version 1.0 or 0.3; None if it is neither."""
    interfaces = card.get("supportedInterfaces")
    first = interfaces[0] if interfaces and isinstance(interfaces, list) else card
    url = first.get("url") if isinstance(first, dict) else None
    return url if isinstance(url, str) else None


def _code_of(card: Mapping[str, Any], url: str, card_url: str) -> Code | None:
    """Return what is wrong with a card."""
    if _is_http(url) and not is_same_domain(host_of(url)[0], host_of(card_url)[0]):
        return Code.OTHER_DOMAIN
    if not card["skills"]:
        return Code.EMPTY
    return None if card.get("supportedInterfaces") else Code.OLD_VERSION


def _is_http(url: str) -> bool:
    """Tell whether an interface can be asked: those of gRPC may have a host and a port only."""
    try:
        return bool(host_of(url))
    except errors.UnsupportedUriError:
        return False


def _code_of_interface(asker: Asker, url: str) -> Code | None:
    """Return why nobody answers at an interface. No message is sent."""
    if not _is_http(url):
        return None
    try:
        asker.ask("OPTIONS", url, is_cut=True)
    except errors.DocumentError as error:
        probe = result_of_error(error, asker.target)
        return None if probe.outcome is Outcome.UNKNOWN else probe.code
    return None


def _signature(asker: Asker, card: Mapping[str, Any], card_url: str) -> Signature:
    """Verify the signatures of a card (A2A 1.0, 8.4). One that is valid suffices."""
    signatures = card.get("signatures")
    if not isinstance(signatures, list) or not signatures:
        return "none"
    try:
        payloads = [base64.urlsafe_b64encode(form).rstrip(b"=").decode() for form in _forms(card)]
    except rfc8785.CanonicalizationError:
        return "invalid"
    results = {_verified(asker, payloads, card_url, signature) for signature in signatures[:_MOST_SIGNATURES]}
    return "valid" if "valid" in results else "invalid" if "invalid" in results else "unverified"


def _verified(asker: Asker, payloads: list[str], card_url: str, signature: Any) -> Signature:
    try:
        protected, signed = signature["protected"], signature["signature"]
        header = decode_object(base64.urlsafe_b64decode(f"{protected}=="))
    except (TypeError, KeyError, ValueError):  # of which errors of base 64 and of JSON are
        return "invalid"
    if header.get("alg") not in _ALGORITHMS:
        return "invalid"
    keys = _keys(asker, header.get("jku"), card_url)
    if keys is None:
        return "unverified"
    try:
        key_set = KeySet.import_key_set({"keys": [key for key in keys if key.get("kid") == header.get("kid")]})
    except (JoseError, ValueError, TypeError, KeyError):
        return "invalid"
    return "valid" if any(_is_valid(f"{protected}.{form}.{signed}", key_set) for form in payloads) else "invalid"


def _is_valid(token: str, key_set: KeySet) -> bool:
    try:
        jws.deserialize_compact(token, key_set, algorithms=list(_ALGORITHMS))
    except (JoseError, ValueError):
        return False
    return True


def _keys(asker: Asker, jku: Any, card_url: str) -> list[dict[str, Any]] | None:
    """Get the keys that a signature names. Those of another host prove nothing: a forger has keys of his own."""
    if not isinstance(jku, str) or urlsplit(jku)[:2] != urlsplit(card_url)[:2]:
        return None
    try:
        answer = asker.ask("GET", jku)
        keys = decode_object(answer.body).get("keys")
    except errors.DocumentError:
        return None
    return [key for key in keys if isinstance(key, dict)] if isinstance(keys, list) else None


def _forms(card: Mapping[str, Any]) -> Iterator[bytes]:
    """Yield the forms of a card that signers sign: as it is published, and without values that are defaults."""
    unsigned = {name: value for name, value in card.items() if name != "signatures"}
    yield rfc8785.dumps(unsigned)
    for defaults in (("", None), ("", None, False, 0)):
        yield rfc8785.dumps(_without(unsigned, defaults) or {})


def _without(value: Any, defaults: tuple[Any, ...]) -> Any:
    """Return a JSON value without defaults and what is empty without them; None if nothing remains."""
    if isinstance(value, dict):
        return {name: rest for name, item in value.items() if (rest := _without(item, defaults)) is not None} or None
    if isinstance(value, list):
        return [rest for item in value if (rest := _without(item, defaults)) is not None] or None
    return None if value in defaults else value
