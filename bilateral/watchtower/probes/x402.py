"""Probes of paid routes, which request the price without paying it."""

from collections import defaultdict
from collections.abc import Mapping
from typing import Any, Final

from bilateral.documents.exchanges import Answer
from bilateral.index.measurements.values import Outcome
from bilateral.watchtower.outcomes import Code, Probe
from bilateral.watchtower.probes.asking import Asker, digest, result, result_of_status
from bilateral.x402.offers import PAYMENT_REQUIRED, Offer, read_offer

_PAYMENT: Final = 402
_NOT_ALLOWED: Final = 405
_WRONG_VERB: Final = frozenset({404, 405})
_VALIDATES: Final = frozenset({400, 401, 415, 422})

_SHARED: Final = {Code.CHALLENGE, Code.RATE_LIMITED, Code.STATUS_404, Code.STATUS_5XX, Code.REDIRECT_REFUSED}
"""The response codes that mean the same for a paid route as for any other."""

_REPUTATION: Final = ("8004-reputation", "reputation")
"""The keys of the extensions that declare an agent."""

_EMPTY_BODY: Final[Mapping[str, Any]] = {"headers": {"Content-Type": "application/json"}, "body": b"{}"}
_MOST_OPTIONS: Final = 20


def probe_x402(asker: Asker) -> Probe:
    """Request a route's price, with the method that its listing declares, or else one that the route allows."""

    def ask(verb: str) -> Answer:
        return asker.ask(verb, asker.target.url, **(_EMPTY_BODY if verb == "POST" else {}))

    verbs = ["GET", "POST", "HEAD"] if asker.target.is_paid else ["GET", "HEAD"]
    declared = asker.target.method
    if declared is not None and declared not in {*verbs, "POST"}:  # any other method could act
        return Probe.of(Code.NOT_EXERCISED)
    verb = next((name for name in (asker.previous.get("method"), declared) if name in verbs), "GET")
    answer = ask(verb)
    if answer.status in _WRONG_VERB:
        allowed = answer.headers.get("allow", "GET, POST").upper().replace(",", " ").split()
        usable = [name for name in verbs if name in allowed and name != verb]
        is_tried = answer.status == _NOT_ALLOWED or (verb == "GET" and declared is None)
        if usable and is_tried and (second := ask(usable[0])).status not in _WRONG_VERB:
            answer, verb = second, usable[0]
    return _judged(asker, answer, verb)


def _judged(asker: Asker, answer: Answer, verb: str) -> Probe:
    failure = result_of_status(asker, answer)
    if failure is not None and failure.code in _SHARED:
        return failure
    if answer.status == _NOT_ALLOWED:
        return result(Code.NOT_EXERCISED, answer)
    if answer.status == _PAYMENT:
        return _offered(answer, verb, is_deep=asker.is_deep)
    if answer.status in _VALIDATES:
        return result(Code.VALIDATES_FIRST, answer, method=verb)
    if failure is None or failure.code is Code.WRONG_TYPE:  # a page is free content, too
        return result(Code.FREE, answer, Outcome.DEGRADED if asker.target.is_paid else None, method=verb)
    return failure


def _offered(answer: Answer, verb: str, *, is_deep: bool) -> Probe:
    header = answer.headers.get(PAYMENT_REQUIRED)
    offer = read_offer(header, b"" if header is not None and (answer.encoding or not is_deep) else answer.body)
    options = offer.whole_options[:_MOST_OPTIONS]
    facts = {"method": verb, **(_terms(offer, options) if is_deep else {})}
    code = Code.OLD_VERSION if offer.version == 1 else Code.TERMS_DIFFER if offer.differs else None
    return result(code if options else Code.TERMS_MISSING, answer, **facts)


def _terms(offer: Offer, options: list[Mapping[str, Any]]) -> dict[str, Any]:
    """Return an offer's facts: its prices, payees, networks and declared agents."""
    payees = defaultdict(set)
    for option in options:
        payees[option["network"]].add(option["payTo"])
    extensions = (offer.message or {}).get("extensions")
    declared = [extensions[key] for key in _REPUTATION if key in extensions] if isinstance(extensions, dict) else []
    return {
        "price": {f"{option['scheme']} {option['network']} {option['asset']}": option["amount"] for option in options},
        "pay_to": {network: sorted(addresses) for network, addresses in payees.items()},
        "networks": sorted(payees),
        "keys": digest(declared) if declared else None,
        "deep_code": Code.TERMS_DIFFER if offer.differs else None,
    }
