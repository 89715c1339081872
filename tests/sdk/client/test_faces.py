"""`Client` and `AsyncClient` are the same but for waiting."""

from __future__ import annotations

import asyncio
import inspect
import re
import threading

import pytest

from bilateral import client as package
from bilateral.client import AsyncClient, AsyncHandle, Client, Handle
from bilateral.documents import RegistrationFile
from scripts.sync_client import TARGETS, generated_files


def methods(kind):
    return {name: member for name, member in inspect.getmembers(kind, inspect.isfunction) if not name.startswith("_")}


def test_the_blocking_client_is_generated_from_the_asynchronous_one():
    names = generated_files()
    assert {path.name: path.read_text() for path in TARGETS.glob("*.py") if path.name in names} == names


def test_both_clients_have_the_same_methods():
    blocking, asynchronous = methods(Client), methods(AsyncClient)
    assert set(blocking) == set(asynchronous)
    assert all(inspect.iscoroutinefunction(member) for name, member in asynchronous.items() if name != "batch")
    for name, member in blocking.items():
        ours, theirs = inspect.signature(member), inspect.signature(asynchronous[name])
        assert list(ours.parameters.values()) == list(theirs.parameters.values()), name
        expected = re.sub(r"\b(Handle|SignalBatch|WriteBatch)\b", r"Async\1", str(ours.return_annotation))
        assert theirs.return_annotation == expected, name


@pytest.mark.parametrize("name", sorted(methods(Client)))
def test_every_method_is_documented_alike(name):
    ours, theirs = inspect.getdoc(getattr(Client, name)), inspect.getdoc(getattr(AsyncClient, name))
    assert ours
    assert ours == theirs


def test_both_clients_take_the_same_settings():
    ours, theirs = (inspect.signature(kind).parameters for kind in (Client, AsyncClient))
    assert list(ours) == list(theirs)
    assert [parameter.default for parameter in ours.values()] == [parameter.default for parameter in theirs.values()]
    assert all(f"{name}:" in Client.__doc__ and f"{name}:" in AsyncClient.__doc__ for name in ours)


def test_both_handles_wait_alike():
    ours, theirs = (inspect.signature(kind.wait).parameters for kind in (Handle, AsyncHandle))
    assert list(ours.values()) == list(theirs.values())


@pytest.mark.parametrize(
    "name",
    [
        *("register_agent", "load_agent", "set_agent_uri", "set_agent_wallet", "unset_agent_wallet", "set_metadata"),
        *("transfer_agent", "give_feedback", "get_feedback", "search_feedback", "get_reputation_summary"),
        *("append_response", "revoke_feedback", "rate_client", "rate_validator", "rate_clients", "get_client_rating"),
        *("authorize_feedback", "give_authorized_feedback", "sign_feedback", "submit_signed_feedback"),
        *("request_validation", "respond_to_validation", "edit_registration"),
    ],
)
def test_the_published_names_are_there(name):
    assert name in methods(Client)


def test_everything_public_can_be_imported():
    assert all(hasattr(package, name) for name in package.__all__)
    assert sorted(package.__all__) == package.__all__


def test_a_slow_document_does_not_hold_up_the_event_loop(rpc, deployment, owner, loader, server):
    file = RegistrationFile.new("Slow", "Takes its time", "https://agent.example/i.png")

    goes_on = threading.Event()

    def slow(handler):
        assert goes_on.wait(60), "the event loop stands still"
        content = file.to_bytes()
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(content)))
        handler.end_headers()
        handler.wfile.write(content)

    server.routes["/agent.json"] = slow

    async def run():
        async with AsyncClient(rpc, signer=owner, deployment=deployment, loader=loader, poll_interval=0.02) as client:
            agent = (await (await client.register_agent(f"{server.url}/agent.json")).wait()).agent
            loading = asyncio.create_task(client.load_agent(agent))
            ticks = 0
            while not loading.done():
                await asyncio.sleep(0.01)
                ticks += 1
                if ticks > 3:
                    goes_on.set()
            return (await loading).name, ticks

    name, ticks = asyncio.run(run())
    assert name == "Slow"
    assert ticks > 3
