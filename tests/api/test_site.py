"""The documentation of releases, served from their archives."""

from __future__ import annotations

import pytest
from starlette.testclient import TestClient

from bilateral.api.app import create_app
from bilateral.api.routes.site import Site
from bilateral.api.settings import ApiSettings
from bilateral.core.errors import InvalidArgumentError
from bilateral.explorer.rendering import POLICY
from bilateral.index.log.database import open_database
from scripts import site_archive

PAGE = "<!doctype html><script src=assets/page.js></script><h1>Checks</h1>" + "<p>words</p>" * 200


@pytest.fixture(scope="module")
def archives(tmp_path_factory):
    """A folder with three versions of a small site, and a secret beside it."""
    top = tmp_path_factory.mktemp("documentation")
    (top / "secret.html").write_text("secret")
    site = top / "site"
    (site / "assets").mkdir(parents=True)
    for name, text in {
        "index.html": PAGE,
        "assets/page.js": "var scheme",
        "LICENSE": "MIT",
        "sitemap.xml": "day",
    }.items():
        (site / name).write_text(text)
    archive = site_archive.pack(site, top / "archives")
    for version in ("0.9.0", "0.10.0", "0.10.0rc1"):
        archive.with_name(f"bilateral-docs-{version}.zip").write_bytes(archive.read_bytes())
    archive.unlink()
    return top / "archives"


@pytest.fixture(scope="module")
def database(tmp_path_factory):
    """The URL of an empty index."""
    url = f"sqlite:///{tmp_path_factory.mktemp('empty') / 'index.sqlite'}"
    open_database(url).dispose()
    return url


@pytest.fixture(scope="module")
def client(database, archives):
    """A client of a service with the documentation."""
    with TestClient(create_app(ApiSettings(database=database, docs=str(archives)))) as client:
        yield client


@pytest.mark.parametrize("path", ["/docs", "/docs/", "/docs/0.10.0"])
def test_docs_lead_to_the_newest_version(client, path):
    answer = client.get(path, follow_redirects=False)
    assert (answer.status_code, answer.headers["Location"]) == (307, "/docs/0.10.0/")
    listed = [{"version": version, "title": version, "aliases": []} for version in ("0.10.0", "0.10.0rc1", "0.9.0")]
    assert client.get("/docs/versions.json").json() == listed


@pytest.mark.parametrize(
    ("path", "text", "kind"),
    [
        ("", PAGE, "text/html; charset=utf-8"),
        ("index.html", PAGE, "text/html; charset=utf-8"),
        ("assets/page.js", "var scheme", "text/javascript; charset=utf-8"),
        ("LICENSE", "MIT", "text/plain; charset=utf-8"),
    ],
    ids=["first page", "page", "script", "text"],
)
def test_files_of_the_site_come_under_the_policy_of_all_pages(client, path, text, kind):
    answer = client.get(f"/docs/0.9.0/{path}")
    assert (answer.status_code, answer.text, answer.headers["Content-Type"]) == (200, text, kind)
    assert answer.headers["Content-Security-Policy"] == POLICY
    assert "unsafe" not in POLICY
    assert (answer.headers["X-Content-Type-Options"], answer.headers["Vary"]) == ("nosniff", "Accept-Encoding, Origin")
    again = client.get(f"/docs/0.9.0/{path}", headers={"If-None-Match": answer.headers["ETag"]})
    assert (again.status_code, again.content) == (304, b"")


@pytest.mark.parametrize(
    "path",
    [
        *("0.9.0/nothing.html", "0.9.0/assets/", "0.9.0/sitemap.xml", "0.8.0/", "0.8.0"),
        *("0.9.0/../../secret.html", "0.9.0/%2e%2e/%2e%2e/secret.html", "0.9.0/..%2f..%2fsecret.html"),
        *("..%2f/secret.html", "0.9.0//etc/passwd", "0.9.0/index.html%00"),
    ],
)
def test_nothing_outside_of_an_archive_is_found(client, path):
    answer = client.get(f"/docs/{path}", headers={"Accept": "text/html"}, follow_redirects=False)
    assert answer.status_code == 404
    assert "secret" not in answer.text.replace("secret.html", "")
    assert answer.headers["Content-Security-Policy"] == POLICY


def test_service_without_documentation_leads_to_its_api(database):
    with TestClient(create_app(ApiSettings(database=database))) as client:
        answer = client.get("/docs", follow_redirects=False)
        assert (answer.status_code, answer.headers["Location"]) == (307, "/openapi")
        assert client.get("/docs/versions.json").json() == []
        assert client.get("/docs/0.9.0/").status_code == 404


@pytest.mark.parametrize(
    ("name", "problem"), [("other.zip", "has no bilateral-docs-"), ("bilateral-docs-1.zip", "read")]
)
def test_folder_without_a_whole_archive_is_refused(tmp_path, name, problem):
    (tmp_path / name).write_bytes(b"PK, but no archive")
    with pytest.raises(InvalidArgumentError, match=problem):
        Site(str(tmp_path))


def test_two_archives_of_one_site_are_equal_byte_for_byte(tmp_path):
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "index.html").write_text(PAGE)
    first = site_archive.pack(tmp_path / "site", tmp_path / "first")
    (tmp_path / "site" / "index.html").touch()
    assert site_archive.pack(tmp_path / "site", tmp_path / "second").read_bytes() == first.read_bytes()
