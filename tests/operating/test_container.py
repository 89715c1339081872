"""The stages of the Dockerfile run as commands, and the container's health check answers."""

from __future__ import annotations

import json
import re
import subprocess

import pytest
import yaml
from sqlalchemy import make_url

from scripts._build import ROOT
from tests.packaging.conftest import record, service_of  # noqa: F401  # a fixture
from tests.packaging.fixtures import clone, run

FOLDER = ROOT / "operating" / "container"
DOCKERFILE = (FOLDER / "Dockerfile").read_text()


@pytest.mark.nightly
def test_first_stage_builds_the_wheel_that_every_build_makes(wheel, tmp_path):
    source = clone(tmp_path / "source")
    run(source / "operating/container/install.sh", "wheel", tmp_path / "wheel", cwd=tmp_path)
    (built,) = (tmp_path / "wheel").iterdir()
    assert built.read_bytes() == wheel.read_bytes()


@pytest.mark.nightly
def test_second_stage_installs_a_service_whose_health_check_answers(wheel, tmp_path, chain, record):  # noqa: F811
    extras = re.search(r"install\.sh runtime /wheel/\*\.whl /opt/bilateral (\S+)", DOCKERFILE)[1]
    environment = tmp_path / "bilateral"
    run(FOLDER / "install.sh", "runtime", wheel, environment, extras, cwd=tmp_path)
    python, *check = json.loads(re.search(r"HEALTHCHECK .*\n    CMD (\[.*\])", DOCKERFILE)[1])
    assert python == "python"
    with service_of(environment / "bin", tmp_path, chain, record) as url:
        check[-1] = check[-1].replace("http://127.0.0.1:8004", url)
        run(environment / "bin" / "python", *check)
    ended = subprocess.run([environment / "bin" / "python", *check], capture_output=True, check=False)  # noqa: S603
    assert ended.returncode != 0


@pytest.mark.parametrize("words", [[], ["wheel"], ["runtime", "one"], ["other"]])
def test_wrong_words_are_refused(words):
    ended = subprocess.run([FOLDER / "install.sh", *words], capture_output=True, text=True, check=False)  # noqa: S603
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.startswith("install.sh: ")


def test_containers_of_bilateral_write_only_their_volumes_and_may_do_nothing_special():
    services = yaml.safe_load((FOLDER / "compose.yaml").read_text())["services"]
    for name in ("follower", "service", "watchtower"):
        assert services[name]["read_only"] is True
        assert services[name]["cap_drop"] == ["ALL"]
        assert services[name]["security_opt"] == ["no-new-privileges:true"]
    assert "\nUSER bilateral\n" in DOCKERFILE


COMPOSE = yaml.safe_load((FOLDER / "compose.yaml").read_text())
"""The production set-up."""


def test_a_password_with_any_character_reaches_the_server_unchanged():
    environment = COMPOSE["services"]["service"]["environment"]
    assert "POSTGRES_PASSWORD" not in environment["BILATERAL_DATABASE"]
    characters = "p@ss/w:rd?#%41 [x]"
    url = make_url(environment["BILATERAL_DATABASE"])
    assert (url.host, url.username, url.password, url.database) == ("postgres", "bilateral", None, "bilateral")
    assert environment["PGPASSWORD"].replace("${POSTGRES_PASSWORD:?}", characters) == characters
    assert COMPOSE["services"]["follower"]["environment"] == environment
    assert COMPOSE["services"]["postgres"]["environment"]["POSTGRES_PASSWORD"] == environment["PGPASSWORD"]


def test_images_of_others_are_pinned_by_version_and_digest():
    images = [service["image"] for service in COMPOSE["services"].values() if "build" not in service]
    images += re.findall(r"^FROM (\S+)", DOCKERFILE, re.MULTILINE)
    assert len(images) == 8
    assert [image for image in images if not re.fullmatch(r"[\w/-]+:v?\d[\w.-]*@sha256:[0-9a-f]{64}", image)] == []


def test_secrets_beside_the_compose_file_are_in_no_commit_and_no_image():
    run("git", "check-ignore", "--no-index", FOLDER / ".env", ROOT / ".env", cwd=ROOT)
    assert "**/.env" in (ROOT / ".dockerignore").read_text().splitlines()
