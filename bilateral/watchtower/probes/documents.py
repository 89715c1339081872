"""Probes of documents: web pages, OASF records, and A2A agent cards."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any, Final, Literal, TypeAlias, get_args
from urllib.parse import urljoin, urlsplit

import rfc8785
from joserfc import jws
from joserfc.errors import JoseError
from joserfc.jwk import KeySet

from bilateral.core import errors
from bilateral.core.text.encoding import decode_object
from bilateral.documents import Validators
from bilateral.documents.http import host_of
from bilateral.index.measurements.values import DAY, Outcome
from bilateral.watchtower.outcomes import Code, Probe
from bilateral.watchtower.probes.asking import Asker, digest, result, result_of_error, result_of_status

Signature: TypeAlias = Literal["valid", "invalid", "unverified", "none"]
_Judgement: TypeAlias = tuple[Code | None, dict[str, Any]]
_Judge: TypeAlias = Callable[[Asker, dict[str, Any], str], _Judgement]

_PAGE_BYTES: Final = 64 * 1024
_RENEWAL_SECONDS: Final = 7 * DAY
"""The time before a certificate's expiry at which it should have been renewed."""

_UNCHANGED: Final = 304
_ALGORITHMS: Final = ("ES256", "ES384", "ES512", "EdDSA", "Ed25519", "PS256", "RS256")
_MOST_SIGNATURES: Final = 2


def probe_web(asker: Asker) -> Probe:
    """Get a page."""
    answer = asker.ask("GET", asker.target.url, max_bytes=_PAGE_BYTES, is_cut=True)
    if (failure := result_of_status(asker, answer, is_page=True)) is not None:
        return failure
    code, ends = None, answer.certificate_ends
    if _domain(answer.url) != _domain(asker.target.url):
        code = Code.OTHER_DOMAIN
    elif ends is not None and ends < time.time() + _RENEWAL_SECONDS:
        code = Code.CERTIFICATE_ENDS
    return result(code, answer, None, **({} if ends is None else {"certificate_ends": ends}))


def probe_oasf(asker: Asker) -> Probe:
    """Get a record: from the URL, or from its host if the URL has no path."""
    url = asker.target.url
    urls = [url] if urlsplit(url).path.strip("/") else [urljoin(url, "/.well-known/oasf-record.json")]
    return _probe_document(asker, urls, _judge_record)


def probe_a2a(asker: Asker) -> Probe:
    """Get an agent's card: from the URL if it points to a file, or else from its host."""
    url = asker.target.url
    names = ("agent-card.json", "agent.json")
    urls = [url] if urlsplit(url).path.endswith(".json") else [urljoin(url, f"/.well-known/{name}") for name in names]
    return _probe_document(asker, urls, _judge_card)


def _judge_record(_asker: Asker, record: dict[str, Any], _url: str) -> _Judgement:
    is_record = isinstance(record.get("schema_version"), str) and isinstance(record.get("skills"), list)
    return (None, {"card": digest(record)}) if is_record else (Code.NOT_PROTOCOL, {})


def _judge_card(asker: Asker, card: dict[str, Any], card_url: str) -> _Judgement:
    """Judge a version 1.0 or 0.3 card. A deep probe also verifies its signature and checks its first interface."""
    interfaces = card.get("supportedInterfaces")
    first = interfaces[0] if interfaces and isinstance(interfaces, list) else card
    url = first.get("url") if isinstance(first, dict) else None
    if not isinstance(url, str) or not isinstance(card.get("name"), str) or not isinstance(card.get("skills"), list):
        return Code.NOT_PROTOCOL, {}
    facts: dict[str, Any] = {"card": digest({**card, "signatures": None})}
    domain = _domain(url)
    code = None if interfaces else Code.OLD_VERSION
    if domain is not None and domain != _domain(card_url):
        code = Code.OTHER_DOMAIN
    elif not card["skills"]:
        code = Code.EMPTY
    if asker.is_deep:
        facts["signature"] = _signature(asker, card, card_url)
        facts["deep_code"] = Code.SIGNATURE_INVALID if facts["signature"] == "invalid" else None
        if not facts["deep_code"] and domain is not None and code is not Code.OTHER_DOMAIN:  # not a stranger's
            facts["deep_code"] = _fault_of_interface(asker, url)
        code = facts["deep_code"] or code
    return code, facts


def _fault_of_interface(asker: Asker, url: str) -> Code | None:
    """Return why an interface does not respond. No message is sent."""
    try:
        asker.ask("OPTIONS", url, is_cut=True)
    except errors.DocumentError as error:
        probe = result_of_error(error, asker.target)
        return None if probe.outcome is Outcome.UNKNOWN else probe.code
    return None


def _probe_document(asker: Asker, urls: list[str], judge: _Judge) -> Probe:
    """Get a JSON document from the first URL that has one, or from the URL that had it last time, and judge it."""
    last_url = asker.previous.get("document_url")
    failures = []
    for url in sorted(urls, key=lambda url: url != last_url):
        etag = asker.previous.get("etag") if url == last_url and not asker.is_deep else None
        answer = asker.ask("GET", url, headers={"Accept": "application/json", **Validators(etag).headers()})
        if answer.status == _UNCHANGED and etag:
            return result(None, answer)
        if (failure := result_of_status(asker, answer)) is None:
            code, facts = judge(asker, decode_object(answer.body), answer.url)
            # The next probe asks for changes of a valid document only.
            facts |= {"document_url": url, "etag": Validators.of(answer.headers).etag if code is None else None}
            return result(code, answer, Outcome.DEGRADED if facts.get("deep_code") else None, **facts)
        failures.append(failure)
        if failure.code not in {Code.STATUS_404, Code.WRONG_TYPE}:
            break
    return failures[-1] if failures[-1].outcome is not Outcome.DOWN else failures[0]


_SUFFIXES: Final = frozenset({"ac", "co", "com", "edu", "gov", "ne", "net", "or", "org"})


def _domain(url: str) -> list[str] | None:
    """Return a URL's domain: the last two labels of its host, or three under a suffix such as `co.uk`."""
    try:
        host = host_of(url)[0]
    except errors.UnsupportedUriError:  # gRPC interfaces may have only a host and a port
        return None
    labels = host.lower().rstrip(".").split(".")
    if labels[-1].isdigit() or ":" in host:
        return labels
    has_suffix = len(labels) > 2 and len(labels[-1]) == 2 and labels[-2] in _SUFFIXES  # noqa: PLR2004  # a country
    return labels[-3 if has_suffix else -2 :]


def _signature(asker: Asker, card: Mapping[str, Any], card_url: str) -> Signature:
    """Verify a card's signatures (A2A 1.0, 8.4). One valid signature suffices."""
    signatures = card.get("signatures")
    if not isinstance(signatures, list) or not signatures:
        return "none"
    try:
        forms = list(_forms(card))
    except rfc8785.CanonicalizationError:
        return "invalid"
    results = (_verified(asker, forms, card_url, signature) for signature in signatures[:_MOST_SIGNATURES])
    return min(results, key=get_args(Signature).index)


def _verified(asker: Asker, forms: list[bytes], card_url: str, signature: Any) -> Signature:
    try:
        detached = f"{signature['protected']}..{signature['signature']}".encode()
        header = jws.extract_compact(detached).headers()
        if header.get("alg") not in _ALGORITHMS:
            return "invalid"
        if (keys := _keys(asker, header.get("jku"), card_url)) is None:
            return "unverified"
        key_set = KeySet.import_key_set({"keys": [key for key in keys if key.get("kid") == header.get("kid")]})
    except (JoseError, AttributeError, TypeError, KeyError, ValueError):  # strangers' JSON may have any shape
        return "invalid"
    for form in forms:
        with suppress(JoseError, ValueError):
            jws.deserialize_compact(detached, key_set, _ALGORITHMS, payload=form)
            return "valid"
    return "invalid"


def _keys(asker: Asker, jku: Any, card_url: str) -> list[dict[str, Any]] | None:
    """Get the keys that a signature refers to. Those on a different host prove nothing: a forger has keys too."""
    if not isinstance(jku, str) or urlsplit(jku)[:2] != urlsplit(card_url)[:2]:
        return None
    try:
        keys = decode_object(asker.ask("GET", jku).body).get("keys")
    except errors.DocumentError:
        return None
    return [key for key in keys if isinstance(key, dict)] if isinstance(keys, list) else None


def _forms(card: Mapping[str, Any]) -> Iterator[bytes]:
    """Yield the forms of a card that signers may have signed: as published, and without default values."""
    unsigned = {name: value for name, value in card.items() if name != "signatures"}
    yield rfc8785.dumps(unsigned)
    for defaults in (("", None), ("", None, False, 0)):
        yield rfc8785.dumps(_without(unsigned, defaults) or {})


def _without(value: Any, defaults: tuple[Any, ...]) -> Any:
    """Return a JSON value without defaults or whatever is empty without them; None if nothing remains."""
    if isinstance(value, dict):
        return {name: rest for name, item in value.items() if (rest := _without(item, defaults)) is not None} or None
    if isinstance(value, list):
        return [rest for item in value if (rest := _without(item, defaults)) is not None] or None
    return None if value in defaults else value
