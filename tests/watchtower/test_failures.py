"""What a probe says of hosts that give no whole answer, and which of it is our own trouble."""

from __future__ import annotations

import datetime
import errno
import socket
import ssl
import threading
import time
from contextlib import contextmanager
from dataclasses import replace

import httpcore
import pytest
import trustme
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from bilateral.documents import Network
from bilateral.index.measurements.values import Outcome, Protocol
from bilateral.watchtower.outcomes import Code
from bilateral.watchtower.politeness import Requests
from bilateral.watchtower.probes import ProbeSettings
from tests.watchtower.endpoints import CONTACT, Endpoints, card, html, http, json_, local_network, mcp, offer, run_probe
from tests.watchtower.test_outcomes import CLASSES

HOST = "agent.example"
NOW = datetime.datetime.now(datetime.UTC)
OF_THE_LOOP = {Code.STALLED, Code.FLAPPING, Code.SHARED_CAUSE, Code.SAMPLED_OUT, Code.OPTED_OUT}
"""The codes that no probe gives."""


@pytest.fixture(scope="module")
def servers():
    """Servers without TLS."""
    with Endpoints() as running:
        yield running


@pytest.fixture(scope="module")
def authority():
    """An authority that the probes of these tests trust."""
    return trustme.CA()


@pytest.fixture(scope="module")
def trusting(authority):
    """A network that trusts the authority."""
    context = ssl.create_default_context()
    authority.configure_trust(context)
    return local_network(ssl_context=context)


@contextmanager
def secure(certificate):
    """Serve pages with a certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    certificate(context)
    with Endpoints(tls=context) as running:
        running.answers[HOST] = html()
        yield running


def failing_resolver(number):
    """Return a resolver that fails with an error of `getaddrinfo`."""

    def look_up(host, _port):
        raise socket.gaierror(number, f"{host} fails")

    return look_up


@pytest.mark.parametrize(
    ("number", "outcome", "code"),
    [
        (socket.EAI_NONAME, Outcome.DOWN, Code.HOST_NOT_FOUND),
        (socket.EAI_NODATA, Outcome.DOWN, Code.HOST_NOT_FOUND),
        (socket.EAI_AGAIN, Outcome.UNKNOWN, Code.RESOLVER_FAILED),
        (socket.EAI_FAIL, Outcome.UNKNOWN, Code.RESOLVER_FAILED),
        (socket.EAI_SYSTEM, Outcome.UNKNOWN, Code.RESOLVER_FAILED),
    ],
)
def test_missing_name_is_theirs_and_trouble_of_the_resolver_is_ours(servers, number, outcome, code):
    network = Network(resolver=failing_resolver(number))
    probe = run_probe(servers, HOST, Protocol.WEB, network=network)
    assert (probe.outcome, probe.code, probe.milliseconds) == (outcome, code, None)


def test_resolver_that_hangs_is_ours(servers):
    network = Network(resolver=lambda _host, _port: time.sleep(1) or [])
    assert run_probe(servers, HOST, Protocol.WEB, network=network, seconds=0.1).code is Code.RESOLVER_FAILED


@pytest.mark.parametrize("number", [errno.ENETUNREACH, errno.EMFILE, errno.EADDRNOTAVAIL])
def test_machine_without_a_route_or_a_socket_is_ours(servers, number):
    class Unplugged(httpcore.SyncBackend):
        def connect_tcp(self, *_, **__):
            raise httpcore.ConnectError from OSError(number, "no connection")

    probe = run_probe(servers, HOST, Protocol.WEB, network=local_network(backend=Unplugged()))
    assert (probe.outcome, probe.code) == (Outcome.UNKNOWN, Code.OWN_NETWORK)


def test_lost_route_of_one_family_does_not_hide_that_the_other_is_refused(servers):
    class NoRouteBySix(httpcore.SyncBackend):
        def connect_tcp(self, host, *arguments, **options):
            if ":" in host:
                raise httpcore.ConnectError from OSError(errno.ENETUNREACH, "no route")
            return super().connect_tcp(host, *arguments, **options)

    network = replace(local_network(backend=NoRouteBySix()), resolver=lambda *_: ["2606:4700::1", "127.0.0.1"])
    servers.answers[HOST] = html()
    assert run_probe(servers, HOST, Protocol.WEB, network=network).code is Code.OK
    with closed_port() as port:
        assert _probe_port(port, network).code is Code.CONNECTION_REFUSED


@contextmanager
def closed_port():
    """Give a port at which nobody listens."""
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        yield silent.getsockname()[1]


@contextmanager
def full_port():
    """Give a port whose queue is full, so that connections get no answer."""
    with socket.socket() as silent, socket.socket() as first:
        silent.bind(("127.0.0.1", 0))
        silent.listen(0)
        first.connect(silent.getsockname())
        yield silent.getsockname()[1]


def _probe_port(port, network=None, seconds=5.0, **options):
    servers = Endpoints(**options)
    servers.port = port
    return run_probe(servers, HOST, Protocol.WEB, network=network, seconds=seconds)


def test_refused_connection_is_down():
    with closed_port() as port:
        probe = _probe_port(port)
        assert (probe.outcome, probe.code) == (Outcome.DOWN, Code.CONNECTION_REFUSED)


def test_each_phase_has_its_timeout(servers):
    with full_port() as port:
        assert _probe_port(port, seconds=0.2).code is Code.TIMEOUT_CONNECT
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        assert _probe_port(port, seconds=0.2, tls=True).code is Code.TIMEOUT_TLS
        assert _probe_port(port, seconds=0.2).code is Code.TIMEOUT_FIRST_BYTE
    slow_head = [b"HTTP/1.1 200 OK\r\n", *[0.05, b"X-A: b\r\n"] * 100]
    slow_body = [b"HTTP/1.1 200 OK\r\n\r\n", *[0.05, b"x"] * 100]
    for answer, code in ((slow_head, Code.TIMEOUT_FIRST_BYTE), (slow_body, Code.TIMEOUT_BODY)):
        servers.answers[HOST] = answer
        probe = run_probe(servers, HOST, Protocol.WEB, seconds=0.2)
        assert (probe.outcome, probe.code) == (Outcome.DOWN, code)


def self_signed(context, folder):
    """Give a context a certificate that signs itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, HOST)])
    built = x509.CertificateBuilder(name, name, key.public_key(), 7, NOW, NOW + datetime.timedelta(9))
    built = built.add_extension(x509.SubjectAlternativeName([x509.DNSName(HOST)]), critical=False)
    path = folder / "own.pem"
    path.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        + built.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
    )
    context.load_cert_chain(path)


def test_each_fault_of_a_certificate_has_its_code(authority, trusting, tmp_path):
    day = datetime.timedelta(1)
    expired = authority.issue_cert(HOST, not_before=NOW - 9 * day, not_after=NOW - day)
    cases = {
        Code.CERTIFICATE_EXPIRED: (expired.configure_cert, Outcome.DOWN),
        Code.CERTIFICATE_NAME: (authority.issue_cert("other.example").configure_cert, Outcome.DOWN),
        Code.CERTIFICATE_SELF_SIGNED: (lambda context: self_signed(context, tmp_path), Outcome.DOWN),
        Code.CERTIFICATE_AUTHORITY: (trustme.CA().issue_cert(HOST).configure_cert, Outcome.DEGRADED),
        Code.CERTIFICATE_ENDS: (authority.issue_cert(HOST, not_after=NOW + 6 * day).configure_cert, Outcome.DEGRADED),
        Code.OK: (authority.issue_cert(HOST, not_after=NOW + 8 * day).configure_cert, Outcome.UP),
    }
    for code, (certificate, outcome) in cases.items():
        with secure(certificate) as running:
            probe = run_probe(running, HOST, Protocol.WEB, network=trusting)
            assert (probe.outcome, probe.code) == (outcome, code)
    assert probe.facts["certificate_ends"] == int((NOW + 8 * day).timestamp())


def test_server_that_speaks_no_tls_is_down():
    def answer_at_once():
        connection, _ = plain.accept()
        connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        connection.close()

    with socket.create_server(("127.0.0.1", 0)) as plain:
        threading.Thread(target=answer_at_once, daemon=True).start()
        probe = _probe_port(plain.getsockname()[1], tls=True)
    assert (probe.outcome, probe.code) == (Outcome.DOWN, Code.TLS)


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"\x00\x01\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nContent-Length: two\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n{}",
    ],
)
def test_broken_answer_is_down(servers, answer):
    servers.answers[HOST] = answer
    probe = run_probe(servers, HOST, Protocol.OASF)
    assert (probe.outcome, probe.code) == (Outcome.DOWN, Code.BROKEN_ANSWER)


def test_answer_without_end_is_cut():
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
    answers = [[head, b"\r\n", *[b"x" * 65536] * 900], [head, *[b"X-A: " + b"a" * 8000 + b"\r\n"] * 900]]
    with Endpoints() as running:
        for answer in answers:
            running.answers[HOST] = answer
            probe = run_probe(running, HOST, Protocol.OASF, path="/r.json")
            assert (probe.outcome, probe.code) == (Outcome.DOWN, Code.TOO_BIG)
        running.answers[HOST] = answers[0]
        assert run_probe(running, HOST, Protocol.WEB).code is Code.OK


@pytest.mark.parametrize(
    "location",
    [
        "/again",
        "ftp://agent.example/",
        "http://xn--/",
        "http://user:secret@agent.example:{port}/",
        "http://169.254.169.254/latest/meta-data",
        "http://[::ffff:127.0.0.1]/",
        "http://100.100.100.200/",
    ],
)
def test_redirect_that_leads_nowhere_or_inside_is_refused(servers, location):
    """The first host is trusted, as a public one would be: only the targets are judged."""
    servers.answers[HOST] = http(302, Location=location.format(port=servers.port))
    network = Network(trusted=frozenset({(HOST, servers.port)}), resolver=_local_or_literal)
    probe = run_probe(servers, HOST, Protocol.WEB, network=network)
    assert (probe.outcome, probe.code) == (Outcome.DOWN, Code.REDIRECT_REFUSED)


def _local_or_literal(host, _port):
    return ["127.0.0.1"] if host.endswith(".example") else [host]


def test_redirect_to_the_page_is_followed_and_to_another_domain_is_degraded(servers):
    servers.answers |= {HOST: http(301, Location=servers.url("www.agent.example")), "www.agent.example": html()}
    assert run_probe(servers, HOST, Protocol.WEB).code is Code.OK
    servers.answers |= {HOST: http(301, Location=servers.url("parked.test")), "parked.test": html()}
    probe = run_probe(servers, HOST, Protocol.WEB)
    assert (probe.outcome, probe.code) == (Outcome.DEGRADED, Code.OTHER_DOMAIN)


@pytest.mark.parametrize("addresses", [["127.0.0.1"], ["10.0.0.1"], ["1.1.1.1", "192.168.1.1"], ["::1"]])
def test_endpoint_with_a_private_address_is_unfit_and_gets_no_request(servers, addresses):
    servers.requests.clear()
    probe = run_probe(servers, HOST, Protocol.WEB, network=Network(resolver=lambda *_: addresses))
    assert (probe.outcome, probe.code) == (Outcome.UNFIT, Code.FORBIDDEN_ADDRESS)
    assert servers.requests == []


@pytest.mark.parametrize("host", ["{your-host}", "api.example.com", "<host>", "your-domain.io"])
def test_url_that_cannot_be_meant_is_unfit(servers, host):
    probe = run_probe(servers, host, Protocol.MCP)
    assert (probe.outcome, probe.code) == (Outcome.UNFIT, Code.PLACEHOLDER)


def test_challenges_count_against_an_endpoint_after_three(servers):
    servers.answers[HOST] = html(403, "captcha")
    facts, outcomes = {}, []
    for _ in range(4):
        probe = run_probe(servers, HOST, Protocol.MCP, previous=facts)
        facts |= probe.facts
        outcomes.append((probe.outcome, probe.code))
    assert outcomes == [(Outcome.UNKNOWN, Code.CHALLENGE)] * 3 + [(Outcome.DEGRADED, Code.CHALLENGE)]
    servers.answers[HOST] = mcp()
    assert run_probe(servers, HOST, Protocol.MCP, previous=facts).facts["challenges"] == 0


def test_refusals_of_other_kinds_are_told_from_challenges(servers):
    servers.answers[HOST] = html(403, "ask an administrator")
    probe = run_probe(servers, HOST, Protocol.MCP, previous={"challenges": 3})
    assert (probe.outcome, probe.code) == (Outcome.GATED, Code.AUTHORIZATION)
    servers.answers[HOST] = http(418)
    assert run_probe(servers, HOST, Protocol.WEB).code is Code.STATUS


def test_every_code_of_a_probe_is_given_in_these_tests():
    of_answers = {code for kind in CLASSES for *_, code in kind()}
    here = {
        Code.HOST_NOT_FOUND,
        Code.RESOLVER_FAILED,
        Code.OWN_NETWORK,
        Code.CONNECTION_REFUSED,
        Code.TLS,
        Code.BROKEN_ANSWER,
        Code.TOO_BIG,
    }
    here |= {
        Code.TIMEOUT_CONNECT,
        Code.TIMEOUT_TLS,
        Code.TIMEOUT_FIRST_BYTE,
        Code.TIMEOUT_BODY,
        Code.CERTIFICATE_EXPIRED,
    }
    here |= {
        Code.CERTIFICATE_NAME,
        Code.CERTIFICATE_SELF_SIGNED,
        Code.CERTIFICATE_AUTHORITY,
        Code.CERTIFICATE_ENDS,
        Code.REDIRECT_REFUSED,
        Code.URL,
    }
    here |= {Code.FORBIDDEN_ADDRESS, Code.PLACEHOLDER, Code.STATUS, Code.OTHER_DOMAIN}
    deep = {Code.SIGNATURE_INVALID, Code.TERMS_DIFFER}
    assert of_answers | here | deep == set(Code) - OF_THE_LOOP


def test_reference_host_is_reached_whatever_it_answers_and_wherever_it_is(servers):
    requests = Requests(ProbeSettings(CONTACT, Network(resolver=lambda *_: ["127.0.0.1"]), 1.0))
    for answer in (html(), http(404), http(302, Location="http://other.test/")):
        servers.answers[HOST] = answer
        assert requests.reaches(servers.url(HOST))
    with closed_port() as port:
        assert not requests.reaches(f"http://{HOST}:{port}/")
    requests = Requests(ProbeSettings(CONTACT, Network(resolver=failing_resolver(socket.EAI_AGAIN)), 1.0))
    assert not requests.reaches(servers.url(HOST))


def test_wait_that_a_server_asks_for_is_reported(servers):
    servers.answers[HOST] = http(429, Retry_After="120")
    assert run_probe(servers, HOST, Protocol.A2A).retry_after == 120
    servers.answers[HOST] = json_(card(f"http://{HOST}/"), Retry_After="120")
    assert run_probe(servers, HOST, Protocol.A2A).retry_after is None


def test_words_of_a_server_are_in_no_explanation(servers):
    for answer in (http(500, b"<b>evil</b>"), b"evil\r\n\r\n", http(200, b'"evil"'), offer({"payTo": "evil"})):
        servers.answers[HOST] = answer
        for protocol in Protocol:
            probe = run_probe(servers, HOST, protocol, is_deep=True)
            assert "evil" not in f"{probe.explanation} {dict(probe.facts)}"
            assert probe.explanation
