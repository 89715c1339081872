"""Evidence on pages: payments, answers, files, other identities, findings, and names that look alike."""

from __future__ import annotations

from decimal import Decimal
from types import SimpleNamespace

import httpx
import pytest

from bilateral.explorer.agent_figures import rater_groups
from bilateral.explorer.networks import agent_path
from bilateral.index.search.gate_texts import AgentQuestion
from bilateral.solana.addresses import MAINNET, SATI
from tests.explorer.html import Page
from tests.explorer.stored import BUYER, CLAIMS, CLIENT, COLLECTOR, MINT, OWNER, PROVEN, RIVAL, VISITOR, WALLET


@pytest.fixture(scope="module")
def site(evidence_site):
    """An HTTP client of the service over the index of evidence."""
    with httpx.Client(base_url=evidence_site, timeout=120) as client:
        yield client


def page(site, path):
    answer = site.get(path, headers={"Accept": "text/html"}, follow_redirects=True)
    assert answer.status_code == 200
    return Page(answer.text)


def proofs(content):
    """Return the state of the payment of each client's feedback."""
    rows = {f"/base/ratings/{entry['block']}-{entry['log_index']}": entry["client"] for entry in content["feedback"]}
    return [(rows[path], value["payment"]["state"]) for path, value in content["evidence"].items()]


def test_a_payment_is_proven_only_if_the_client_paid_this_agent(site):
    content = site.get("/base/1.json").json()
    states = ["proven", "to itself", "claimed", "claimed"]
    assert sorted(proofs(content)) == sorted([*zip(CLAIMS, states, strict=True), (BUYER, "none")])
    shares = {share["name"]: share["server"] for share in content["shares"]}
    assert (shares["Payment proven"], shares["Payment claimed"]) == (0.2, 0.4)


def test_page_of_an_agent_shows_its_raters_by_weight_and_the_money_in_and_out(site):
    content = site.get("/base/1.json").json()
    groups = [(group["name"], group["raters"], group["mean"]) for group in content["raters"]]
    # Its only payer is flagged, and so counts among those.
    assert groups == [("without a proven payment", 2, 77.5), ("flagged by the analysis", 2, 90.0)]
    assert sum(group["raters"] for group in content["raters"]) == content["as_server"]["summary"]["counterparts"]
    assert (sum(content["money"]["server"]), sum(content["money"]["client"])) == (450, 150)
    shown = page(site, "/base/1")
    assert "Raters by weight" in shown.text
    assert "Payments over 84 days: $4.50 received (above), $1.50 paid (below)" in shown.attributes("aria-label")
    row = {"client": "0xa", "tag": "starred", "value": Decimal(80), "is_revoked": False}
    recent = [SimpleNamespace(**row), SimpleNamespace(**{**row, "client": "0xb", "value": Decimal(20)})]
    summary = SimpleNamespace(tag="starred")
    paid, unpaid = rater_groups(recent, ["proven", "claimed"], (), summary)
    assert (paid.name, paid.mean, paid.share, unpaid.mean) == ("paid it", 80.0, 0.5, 20.0)
    assert rater_groups(recent, ["proven", "claimed"], (), None) == ()


def test_pages_show_each_state_of_a_payment_in_its_own_words(site):
    shown = page(site, "/base/1").text
    assert all(name in shown for name in ("✓ paid $1.50", "paid itself", "claimed", "none"))
    content = site.get("/base/1.json").json()
    path = next(path for path, value in content["evidence"].items() if value["payment"]["state"] == "proven")
    shown = page(site, path).text
    assert "Proven: the client paid this agent, as the chain shows" in shown
    assert f"0x{PROVEN.hex()}" in shown
    assert site.get(f"{path}.json").json()["evidence"][path]["payment"]["payment"]["dollars"] == "1.500000"


def test_lists_and_ratings_show_the_kind_of_a_payment_and_the_ceiling_of_a_metered_one(site):
    paid = site.get(f"/accounts/{CLIENT}.json").json()["paid"]
    kinds = [(entry["kind"], entry["dollars"], entry["ceiling"]) for entry in paid]
    assert kinds == [("permit2-upto", "1.500000", "5.000000"), ("eip3009", "1.500000", None)]
    shown = page(site, f"/accounts/{CLIENT}").text
    assert "by Permit2, metered: $1.50 of at most $5.00" in shown
    assert "by EIP-3009" in shown
    assert "by EIP-3009" in page(site, "/base/1").text


def test_an_authorised_feedback_shows_its_payment_too(site):
    (row,) = site.get("/base/1/ratings.json?side=authorized").json()["authorized"]
    path = f"/base/ratings/{row['block']}-{row['log_index']}"
    assert site.get(f"{path}.json").json()["evidence"][path]["payment"]["state"] == "proven"
    shown = page(site, path).text
    assert "Was it paid for?" in shown
    assert f"{CLIENT} paid {WALLET} on chain 8453" in shown


def test_a_feedback_shows_the_answer_of_the_agent_before_many_of_others(site):
    content = site.get("/base/1.json").json()
    clients = {f"/base/ratings/{entry['block']}-{entry['log_index']}": entry["client"] for entry in content["feedback"]}
    answers = {(clients[path], value["answer"]["responder"], value["answer"]["is_by_agent"])
               for path, value in content["evidence"].items() if value["answer"]}  # fmt: skip
    assert answers == {(CLIENT, OWNER, True), (BUYER, BUYER, False)}
    assert "by the agent" in page(site, "/base/1").text


def test_an_account_with_many_agents_says_which_ones_its_lists_are_of(site):
    path = f"/accounts/{COLLECTOR}"
    content = site.get(f"{path}.json").json()
    assert (len(content["summaries"]), content["has_other_agents"]) == (6, True)
    shown = page(site, path)
    assert "of its first 6 agents" in shown.text
    assert "the first 200" in shown.text
    assert f"/search?owner={COLLECTOR}" in shown.attributes("href")
    assert site.get(f"/accounts/{OWNER}.json").json()["has_other_agents"] is False
    assert "of its first" not in page(site, f"/accounts/{OWNER}").text


def test_an_agent_shows_its_file_with_uri_and_hash(site):
    content = site.get("/base/1.json").json()
    shown = page(site, "/base/1").text
    assert content["file"]["content_hash"] in shown
    assert content["agent"]["uri"][:100] in shown


def test_another_identity_is_proven_if_both_files_name_each_other(site):
    content = site.get("/base/1.json").json()
    claims = [
        (other["chain_id"], other["agent_id"], other["names_back"], other["has_same_owner"])
        for other in content["others"]
    ]
    assert claims == [(31337, "7", True, True), (31337, "8", False, False)]
    shown = page(site, "/base/1")
    assert "31337 #7 both ways , same owner" in shown.text
    assert "31337 #8 one way" in shown.text
    assert "/31337/7" in shown.attributes("href")


def test_a_registration_on_solana_is_shown_as_a_claim(site):
    """The index has it from the file alone, in either form of its id. A number is left out."""
    agent = f"{MAINNET}:{SATI}#{MINT}"
    content = site.get("/base/1.json").json()
    (claim,) = content["on_solana"]
    assert claim == {"agent": agent, "network": "solana:mainnet", "registry": "SATI", "names_back": False}
    assert f"{MINT}, SATI on solana:mainnet one way" in page(site, "/base/1").text


def test_an_agent_shows_its_transfers_and_changes_of_its_wallet(site):
    kinds = [(change["kind"], change["account"]) for change in site.get("/base/1.json").json()["changes"]]
    assert [kind for kind in kinds if kind[0] != "file"] == [
        ("wallet", WALLET), ("transferred", OWNER), ("registered", RIVAL),
    ]  # fmt: skip
    shown = page(site, "/base/1").text
    assert "Wallet 0x" in shown
    assert "Transferred to 0x" in shown


def test_names_that_look_alike_are_marked_in_lists(site):
    assert page(site, "/search?q=agent").text.count("looks like another name on this page") == 3
    assert "looks like another name on this page" in page(site, "/compare?first=base/1&second=base/2").text
    assert "looks like another name on this page" not in page(site, "/compare?first=base/1&second=31337/8").text


def test_an_account_shows_what_it_gave_and_received_in_every_role(site):
    gave = site.get(f"/accounts/{CLIENT}.json").json()
    assert [entry["score"] for entry in gave["authorized"]] == [77]
    assert [payment["state"] for payment in (entry["payment"] for entry in gave["evidence"].values())] == ["proven"]
    assert [entry["agent"] for entry in gave["paid"]] == ["8453:1", "8453:1"]
    assert [buyer["payments"] for buyer in gave["buyers"]] == [2]
    assert [finding["part"] for finding in gave["findings"]] == ["actor"]
    wallet = site.get(f"/accounts/{WALLET}.json").json()
    assert [entry["rating"] for entry in wallet["ratings_given"]] == [30]
    assert [entry["payer"] for entry in wallet["was_paid"]] == [CLIENT, WALLET, CLIENT]
    places = [(entry["block"], entry["log_index"]) for entry in wallet["was_paid"]]
    assert places == sorted(places, reverse=True)
    assert [entry["side"] for entry in wallet["summaries"]["8453:1"]] == ["server"]
    shown = page(site, f"/accounts/{WALLET}").text
    assert "Ratings given by its agents" in shown
    assert "Payments received" in shown
    assert "Authorised feedback given" in page(site, f"/accounts/{CLIENT}").text


def test_the_table_of_a_network_says_groups_directions_flags_and_low_means(site):
    html = page(site, "/base/network")
    assert all(
        name in html.text for name in ("rates as a server", "rates as a client", "below 50", "group 1", "flagged")
    )
    assert f"/base/1/ratings?client={CLIENT}" in html.attributes("href")
    assert "/base/2/ratings?side=client&reviewer=8453%3A1" in html.attributes("href")
    nodes = site.get("/base/network.json").json()["nodes"]
    assert min(node["group"] for node in nodes) == 1
    assert "/base/analysis" in html.attributes("href")


@pytest.mark.parametrize(
    ("words", "path"),
    [
        ("8453:1", "/base/1"),
        ("base/1", "/base/1"),
        ("Base #1", "/base/1"),
        ("#7", "/31337/7"),
        (CLIENT.lower(), f"/accounts/{CLIENT}"),
        ("starred", "/search?side=server&tag=starred"),
    ],
)
def test_the_search_box_finds_ids_addresses_and_tags(site, words, path):
    answer = site.get("/search.json", params={"q": words}).json()
    assert path in [entry["path"] for entry in answer["direct"]]
    html = site.get("/search", params={"q": words}, headers={"Accept": "text/html"}).text
    assert path in Page(html).attributes("href")


@pytest.mark.parametrize("words", ["8453:99", "nowhere/1", "#99", "0xab", "", "::", "base/" + "9" * 78])
def test_words_that_name_no_page_lead_nowhere(site, words):
    assert site.get("/search.json", params={"q": words}).json()["direct"] == []


def test_each_figure_leads_to_the_ratings_that_it_is_made_of(site):
    assert "/base/1/ratings?tag=starred" in page(site, "/base/1").attributes("href")
    content = site.get("/base/1/ratings.json?tag=starred").json()
    counted = [entry for entry in content["feedback"] if not entry["is_revoked"]]
    (summary,) = content["summaries"]
    assert (summary["count"], summary["mean"]) == (
        len(counted),
        sum(float(entry["value"]) for entry in counted) / len(counted),
    )
    assert [float(entry["value"]) for entry in site.get(f"/base/1/ratings.json?client={BUYER}").json()["feedback"]] == [
        40,
        90,
    ]
    assert [rating["rating"] for rating in site.get("/base/2/ratings.json?side=client").json()["ratings"]] == [30]
    assert [rating["rating"] for rating in site.get("/base/1/ratings.json?side=given").json()["ratings"]] == [30]
    assert [entry["score"] for entry in site.get("/base/1/ratings.json?side=authorized").json()["authorized"]] == [77]
    for side in ("server", "authorized", "client", "validator", "given"):
        assert "Ratings" in page(site, f"/base/1/ratings?side={side}").text


@pytest.mark.parametrize(
    ("path", "status"),
    [("/base/1/ratings?side=both", 400), ("/base/1/ratings?client=0x", 400), ("/base/9/ratings", 404),
     ("/base/1/ratings?cursor=x", 400), (f"/base/1/ratings?side=client&client={CLIENT}", 400),
     (f"/base/1/ratings?side=given&client={CLIENT}", 400), ("/base/1/ratings?side=validator&tag=x", 400),
     ("/base/1/ratings?side=authorized&payment=claimed", 400), ("/base/1/ratings?payment=proven", 400),
     ("/base/1/ratings?reviewer=0x12", 400), ("/base/1/ratings?reviewer=8453:x", 400),
     ("/base/1/ratings?side=client&reviewer=x", 400), (f"/base/1/ratings?registry={CLIENT}", 400),
     ("/base/1/ratings?registry=0x", 400), ("/base/1/ratings?reviewer=" + "1:1," * 201, 400)],
)  # fmt: skip
def test_a_wrong_list_of_ratings_is_refused_in_a_page_that_says_the_block(site, path, status):
    answer = site.get(path, headers={"Accept": "text/html"})
    assert answer.status_code == status
    assert "base: block 1" in Page(answer.text).text


def test_a_filter_that_a_list_of_ratings_has_not_is_named(site):
    answer = site.get("/base/1/ratings.json?side=client&tag=quality").json()
    assert answer["detail"] == "tag does not apply to side client: omit it, or use side server"
    path = f"/base/1/ratings.json?side=authorized&client={RIVAL}"
    assert site.get(path).json()["authorized"] == []


def test_the_foot_of_every_page_says_block_lag_and_version(site):
    for path in ("/", "/method", "/search", "/compare", "/base/1", f"/accounts/{CLIENT}", "/base/network"):
        assert "base: block 1, 0 behind the head" in page(site, path).text, path
        assert "Bilateral 0" in page(site, path).text, path


def test_the_method_explains_every_figure_and_lists_the_api(site):
    html = page(site, "/method")
    anchors = {entry["id"] for entry in html.of("h3")}
    asked = {
        attribute.partition("#")[2]
        for attribute in page(site, "/base/1").attributes("href")
        if attribute.startswith("/method#")
    }
    assert asked
    assert asked <= anchors
    for entrance in site.get("/method.json").json()["api"]:
        assert entrance["link"] is None or site.get(entrance["link"]).status_code == 200


def test_every_state_of_the_gate_has_a_path_that_fills_the_form(site):
    query = "side=client&minimum=20&maximum=40&maximum_count=9&side_2=server&tag_2=starred&count_2=2&rated=yes"
    html = page(site, f"/search?{query}&registered_from=2020-01-01&updated_to=2030-01-01&chain=base")
    filled = {entry["name"]: entry.get("value") for entry in html.of("input") if entry.get("value")}
    assert filled == {
        "minimum": "20", "maximum": "40", "maximum_count": "9", "tag_2": "starred", "count_2": "2",
        "registered_from": "2020-01-01", "updated_to": "2030-01-01",
    }  # fmt: skip
    content = site.get(f"/search.json?{query}").json()
    assert content["problem"] is None
    assert content["found"] == []  # nobody rated agent 1 as a client, and nobody agent 2 as a server
    wallet = site.get(f"/search.json?wallet={WALLET}&metadata=category=shop").json()
    assert (wallet["problem"], [entry["id"] for entry in wallet["found"]]) == (None, ["8453:1"])
    html = site.get("/search.json?metadata=category=hex:73686f70").json()
    assert [entry["id"] for entry in html["found"]] == ["8453:1"]


def entries(site, path):
    """Return the values of a list of ratings, without those that were revoked."""
    before, _, query = path.partition("?")
    content = site.get(f"{before}.json?{query}").json()
    values = [entry["value"] for entry in content["feedback"] if not entry["is_revoked"]]
    return [float(value) for value in values + [entry["score"] for entry in content["authorized"]]] + [
        rating["rating"] for rating in content["ratings"]
    ]


def list_of(results, agent):
    """Return the path of the list of ratings of an agent to which a page leads."""
    (path,) = {
        attribute for attribute in results.attributes("href") if attribute.startswith(f"{agent_path(agent)}/ratings?")
    }
    return path


@pytest.mark.parametrize(
    ("gate", "agents"),
    [
        ("tag=starred", 1),
        (f"tag=starred&reviewer={BUYER}", 1),
        (f"tag=starred&reviewer={BUYER},{CLIENT}&count=2", 1),
        ("payment=claimed", 1),
        ("tag=starred&payment=matching", 1),
        (f"reviewer={CLIENT}&payment=matching", 1),
        ("tag=quality", 1),
        (f"tag=quality&reviewer={CLIENT}", 1),
        ("tag=speed&minimum=50", 1),
        ("tag=speed&maximum=50", 1),
        ("side_2=client", 1),
        ("side=client&reviewer=8453:1", 1),
        ("side=client&reviewer=8453:2", 0),
        (f"tag=starred&reviewer={VISITOR}", 0),
    ],
)
def test_a_found_agent_leads_to_exactly_the_ratings_that_passed_its_gate(site, gate, agents):
    listed = site.get(f"/search.json?{gate}").json()["found"]
    assert len(listed) == agents
    for entry in listed:
        values = entries(site, list_of(page(site, f"/search?{gate}"), entry["id"]))
        assert (entry["rating"]["count"], entry["rating"]["mean"]) == (len(values), sum(values) / len(values))


def test_a_list_of_raters_without_accounts_has_no_ratings(site):
    assert entries(site, "/base/1/ratings?reviewer=8453:99") == []  # no account speaks as this agent
    assert entries(site, "/base/1/ratings?reviewer=8453:2") == [90]
    assert entries(site, f"/base/1/ratings?client={CLIENT}&reviewer={BUYER}") == []
    assert entries(site, f"/base/1/ratings?side=authorized&reviewer={BUYER}") == []
    assert "by the clients" in page(site, f"/base/1/ratings?reviewer={BUYER}").text


def test_two_registries_with_one_tag_have_two_figures_with_two_lists(site):
    html = page(site, "/31337/8")
    paths = sorted(
        {
            attribute
            for attribute in html.attributes("href")
            if attribute.startswith("/31337/8/ratings?tag=speed&registry=")
        }
    )
    assert sorted(entries(site, path) for path in paths) == [[20], [55]]
    assert "authorised" in html.text
    assert entries(site, "/31337/8/ratings?tag=speed") == [20]
    assert entries(site, "/31337/8/ratings?side=authorized&tag=speed") == [55]
    assert entries(site, "/31337/8/ratings?side=authorized&tag=other") == []
    assert entries(site, "/base/1/ratings?tag=quality") == [77]  # only authorised feedback has this tag
    ticks = {tag["summary"]["registry"]: tag["places"] for tag in site.get("/31337/8.json").json()["tags"]}
    assert sorted(ticks.values()) == [[], [0.2]]
    content = site.get("/compare.json?first=31337/8&second=base/1").json()
    assert {len(tag["registries"]) for tag in content["tags"]} == {2}


def test_rows_of_a_search_lead_to_the_ratings_of_their_registry(site):
    summary = site.get("/base/1.json").json()["as_server"]["summary"]
    values = entries(site, list_of(page(site, "/search?tag=starred"), "8453:1"))
    assert (summary["count"], float(summary["mean"])) == (len(values), sum(values) / len(values))


def test_a_figure_of_an_account_leads_to_the_ratings_under_its_tag(site):
    content = site.get(f"/accounts/{OWNER}.json").json()
    (summary,) = content["summaries"]["8453:1"]
    html = page(site, f"/accounts/{OWNER}")
    assert len(entries(site, list_of(html, "8453:1"))) == summary["count"]
    assert f"under {summary['tag']}" in html.text


def test_a_cluster_is_a_page_with_its_accounts_and_their_findings(site):
    assert "/base/clusters/1" in page(site, "/base/analysis").attributes("href")
    content = site.get("/base/clusters/1.json").json()
    assert {account["account"] for account in content["accounts"]} == {CLIENT, RIVAL}
    assert [value["finding"]["id"] for value in content["findings"]] == ["lockstep-1"]
    html = page(site, "/base/clusters/1")
    assert "flagged" in html.text
    assert {f"/accounts/{CLIENT}", "/base/findings/lockstep-1", "/base/clusters/1.json"} <= set(html.attributes("href"))
    assert site.get("/base/clusters/2.json").status_code == 404


def test_account_shows_its_payments_in_and_out_by_day(site):
    for account, received, paid in ((CLIENT, 0, 300), (WALLET, 450, 150)):
        money = site.get(f"/accounts/{account}.json").json()["money"]
        assert (sum(money["server"]), sum(money["client"])) == (received, paid)
        label = f"Payments over 84 days: ${received / 100:.2f} received (above), ${paid / 100:.2f} paid (below)"
        answer = site.get(f"/accounts/{account}", headers={"Accept": "text/html"})
        assert f'aria-label="{label}"' in answer.text
    assert site.get(f"/accounts/{COLLECTOR}.json").json()["money"] is None


def test_names_that_look_alike_are_found_in_the_whole_index(site):
    fake = "P\u0430ypa\u0406 Agent"
    direct = site.get("/search.json", params={"q": fake}).json()["direct"]
    assert sorted(entry["name"] for entry in direct) == ["31337:7", "8453:1"]
    (link,) = [
        attribute for attribute in page(site, "/base/2").attributes("href") if attribute.startswith("/search?q=P")
    ]
    shown = page(site, link).text
    assert "Is it one of these?" in shown
    assert shown.count("looks like another name on this page") >= 2
    assert not [
        attribute for attribute in page(site, "/base/1").attributes("href") if attribute.startswith("/search?q=")
    ]


def test_a_preview_of_a_search_leads_to_the_same_search(site):
    metas = {entry.get("property"): entry["content"] for entry in page(site, "/search?q=agent&tag=starred").of("meta")
             if "content" in entry}  # fmt: skip
    assert metas["og:url"].endswith("/search?q=agent&tag=starred")


@pytest.mark.parametrize(
    ("query", "problem"),
    [
        ("registered_from=soon", 'registered_from "soon" is not a date: use the format YYYY-MM-DD, such as 2026-11-22'),
        ("maximum_2=x", 'maximum_2 "x" is not a number'),
        ("maximum_count=0", 'maximum_count "0" is too small: write at least 1'),
        ("rated=maybe", 'rated "maybe" must be yes or no'),
        ("chain=base,nowhere", 'the chain "nowhere" is unknown: use its name or its number'),
        ("metadata=a=hex:x", 'the metadata "a=hex:x" must have a format such as region=eu or region=hex:6575'),
        ("wallet=0x", 'wallet "0x" is not an address: expected 0x and 40 hexadecimal digits'),
    ],
)
def test_a_wrong_field_of_the_gate_is_named(site, query, problem):
    assert site.get(f"/search.json?{query}").json()["problem"] == problem


def test_the_form_has_every_field_of_a_search(site):
    fields = {field.alias or name for name, field in AgentQuestion.model_fields.items()}
    assert fields - {"gate"} <= set(page(site, "/search").attributes("name"))


def test_a_path_of_the_form_leaves_empty_gates_out(site):
    answer = site.get("/search?q=agent&side=server&side_2=server&tag_2=&side_3=server")
    assert (answer.status_code, answer.headers["Location"]) == (303, "/search?q=agent&side=server")
