"""The pages of the site are those of the repository, with links that lead to the same files."""

from __future__ import annotations

from scripts import site_pages


def test_links_between_pages_follow_the_pages_to_their_places():
    text, targets = site_pages.rewritten(
        "[map](README.md) [tables](index.md#tables) [rules](../CONVENTIONS.md)", "docs/sdk.md"
    )
    assert text == "[map](index.md) [tables](index-of-chains.md#tables) [rules](project/CONVENTIONS.md)"
    assert targets == {"docs/README.md", "docs/index.md", "CONVENTIONS.md"}


def test_links_of_a_page_of_the_root_leave_its_folder():
    text, _ = site_pages.rewritten("![picture](docs/explorer/play.webp) [licence](LICENSE)", "README.md")
    assert text == "![picture](../explorer/play.webp) [licence](../sources/LICENSE)"


def test_a_link_to_a_folder_becomes_its_label_and_one_to_the_web_stays():
    text, targets = site_pages.rewritten("[pictures](explorer/) [ERC](https://eips.ethereum.org)", "docs/explorer.md")
    assert (text, targets) == ("pictures [ERC](https://eips.ethereum.org)", set())


def test_code_is_not_rewritten():
    fence = "```python\nrows[index](README.md)\n```"
    assert site_pages.rewritten(fence, "docs/sdk.md") == (fence, set())


def test_every_page_is_staged_with_the_files_that_it_links_to(tmp_path):
    pages = site_pages.stage(tmp_path / "pages")
    assert pages == len(list((tmp_path / "pages").rglob("*.md"))) > 30
    assert '!!! info "Generated"\n    `make market` writes this page.' in (tmp_path / "pages/decisions.md").read_text()
    assert (tmp_path / "pages/sources/contracts/interfaces/IIdentityRegistry.sol").is_file()
    assert "`GET /v1/checks/server`" in (tmp_path / "pages/http-reference.md").read_text()
    assert "::: bilateral.Client\n" in (tmp_path / "pages/reference.md").read_text()
