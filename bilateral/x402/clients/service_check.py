"""Checks a service, given only its URL: its price, declaration, agents, files and ratings, with a verdict.

The verdict comes from `bilateral.checks`, so this module also requires the `index` extra.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from bilateral.checks import LiveCheck, Policy, Verdict, check_live_server
from bilateral.client import Client
from bilateral.core.contracts.codec import ContractRevertError
from bilateral.core.errors import MalformedNodeAnswerError
from bilateral.core.text import ChainText, printable
from bilateral.documents import Loader
from bilateral.node import answers as node_answers
from bilateral.node.steps import Batch, Operation, Rpc
from bilateral.x402.clients.preflight import Finding, findings_of
from bilateral.x402.proof.errors import InvalidMessageError
from bilateral.x402.proof.profiles import PROFILES
from bilateral.x402.proof.verifier import Verifier

_FIELDS: Final = {"scheme": 40, "network": 80, "asset": 200, "amount": 80, "payTo": 200}
"""The fields shown for a payment option, each with its maximum text length."""

_ADDRESS: Final = re.compile("0x[0-9a-fA-F]{40}")

_VIEWS: Final = ("0x95d89b41", "0x313ce567")
"""The selectors of `symbol()` and `decimals()` (ERC-20)."""

_MOST_SYMBOL: Final = 20  # bytes
_MOST_DECIMALS: Final = 36

_MOST_OPTIONS: Final = 10
"""The maximum number of payment options to read from an offer: a hostile offer may contain any number."""

_MOST_AGENTS: Final = 3
"""The maximum number of declared agents to check. Each takes up to 60 node requests; honest servers declare one."""

_GRAVITY: Final = (Verdict.ACCEPT, Verdict.CAUTION, Verdict.DECLINE)
"""The verdicts from best to worst. A service gets the worst verdict of its findings and agents."""


@dataclass(frozen=True)
class ServiceCheck:
    """The result of checking a service.

    Attributes:
        verdict: The worst verdict among the findings and the agents.
        price: Up to ten payment options as stated by the server, which are untrusted text. `text` describes each option
            in words, such as "0.01 TUSD to 0x7099…". Identify the token by `asset`, because its contract can choose any
            symbol.
        findings: The checks of the declaration, as returned by `check_url`.
        agents: The checks of the declared agents on the client's chain.
        unknown: The facts that could not be determined.
    """

    verdict: Verdict
    url: str
    price: tuple[Mapping[str, str], ...]
    findings: tuple[Finding, ...]
    agents: tuple[LiveCheck, ...]
    unknown: tuple[str, ...]


def check_service(  # noqa: PLR0913  # the service, and how to ask
    client: Client,
    rpc_url: str,
    url: str,
    price: Mapping[str, Any] | None,
    *,
    policy: Policy | None = None,
    loader: Loader | None = None,
    report: Callable[[str], None] = lambda _: None,
) -> ServiceCheck:
    """Check whether to pay the service behind a URL. Nothing is paid or signed.

    Args:
        price: The value returned by `ask_price`.
    """
    deployment = client.get_deployment()
    with Verifier({rpc_url: deployment}, loader=loader) as verifier:
        findings = findings_of(verifier, url, price)
    answers, unknown = [], []
    declared = tuple(dict.fromkeys(_declared(price or {}, str(deployment.agent_registry))))
    for agent, pay_to in declared[:_MOST_AGENTS]:
        try:
            answers.append(
                check_live_server(client, int(agent), pay_to=pay_to, policy=policy, loader=loader, report=report)
            )
        except (ContractRevertError, ValueError):  # a finding reports it
            unknown.append(f"agent {printable(agent[:80])}: it does not exist in the registry")
    if not answers:
        unknown.append("the agent: the service declares no agent on this chain, so there are no ratings to check")
    verdicts = [*(answer.verdict for answer in answers), *map(_verdict, findings)]
    if len(declared) > _MOST_AGENTS:
        unknown.append(f"{len(declared) - _MOST_AGENTS} more declared agents: only {_MOST_AGENTS} are checked")
        verdicts.append(Verdict.CAUTION)
    return ServiceCheck(
        verdict=max(verdicts, key=_GRAVITY.index, default=Verdict.CAUTION),
        url=url,
        price=_in_words(client, _options(price or {})),
        findings=tuple(findings),
        agents=tuple(answers),
        unknown=tuple(unknown),
    )


def networks_of(price: Mapping[str, Any] | None) -> tuple[str, ...]:
    """Return the distinct networks of the payment options, as untrusted text."""
    return tuple(dict.fromkeys(str(option.get("network"))[:80] for option in _options(price or {})))


def _verdict(finding: Finding) -> Verdict:
    """Return one finding's verdict: caution if no agent is declared, because such a service may still be honest."""
    if not finding.code:
        return Verdict.ACCEPT
    return Verdict.CAUTION if finding.code == "not_declared" else Verdict.DECLINE


def _options(price: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    accepts: Any = price.get("accepts")
    listed = accepts if isinstance(accepts, list) else []
    return [option for option in listed if isinstance(option, dict)][:_MOST_OPTIONS]


def _in_words(client: Client, offered: Sequence[Mapping[str, Any]]) -> tuple[dict[str, str], ...]:
    """Return each option with its description, which shows tokens without a symbol or on other chains as addresses."""
    options = [
        {name: printable(str(option[name])[:longest]) for name, longest in _FIELDS.items() if name in option}
        for option in offered
    ]
    network = str(client.get_deployment().agent_registry.chain)
    assets = {option.get("asset", "") for option in options if option.get("network") == network}
    tokens = client.runner.run(_tokens(sorted(filter(_ADDRESS.fullmatch, assets))))
    return tuple({"text": _sentence(option, network, tokens), **option} for option in options)


def _sentence(option: Mapping[str, str], network: str, tokens: Mapping[str, tuple[str, int]]) -> str:
    amount, asset = option.get("amount", ""), option.get("asset", "an unnamed token")
    token = tokens.get(asset) if option.get("network") == network else None
    if token is None or not (amount.isascii() and amount.isdigit()):
        price = f"{amount or 'an unnamed amount'} of {asset} on {option.get('network', 'an unnamed network')}"
    else:
        digits = amount.zfill(token[1] + 1)
        split = len(digits) - token[1]
        price = f"{digits[:split].lstrip('0') or '0'}.{digits[split:]}".rstrip("0").rstrip(".") + f" {token[0]}"
    return f"{'up to ' if option.get('scheme') == 'upto' else ''}{price} to {option.get('payTo', 'nobody')}"


def _tokens(assets: list[str]) -> Operation[dict[str, tuple[str, int]]]:
    """Return the symbols and decimals of ERC-20 tokens by address, omitting contracts that lack them."""
    if not assets:
        return {}
    questions = [Rpc("eth_call", ({"to": asset, "data": view}, "latest")) for asset in assets for view in _VIEWS]
    answers = yield Batch(tuple(questions))
    tokens = {}
    for asset, symbol, decimals in zip(assets, answers[::2], answers[1::2], strict=True):
        if isinstance(symbol, Exception) or isinstance(decimals, Exception):
            continue
        try:
            text, places = node_answers.data(symbol), int.from_bytes(node_answers.data(decimals))
        except MalformedNodeAnswerError:
            continue
        size = int.from_bytes(text[32:64])  # the length of a Solidity string, which follows its offset
        name = printable(ChainText(text[64 : 64 + min(size, _MOST_SYMBOL)]))
        if name and places <= _MOST_DECIMALS:
            tokens[asset] = (name, places)
    return tokens


def _declared(price: Mapping[str, Any], registry: str) -> Iterator[tuple[str, str]]:
    extensions = price.get("extensions")
    if not isinstance(extensions, dict):
        return
    for profile in (PROFILES[name] for name in PROFILES if name in extensions):
        try:
            info = profile.info_of(extensions[profile.key])
        except InvalidMessageError:
            continue
        network = registry.rpartition(":")[0]
        payees = [str(option.get("payTo"))[:200] for option in _options(price) if option.get("network") == network]
        for registration in info.registrations:
            if str(registration.agent.registry).lower() == registry.lower():
                yield from ((registration.agent.agent, payee) for payee in payees)
