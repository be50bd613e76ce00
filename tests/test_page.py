"""The page in the browser: its vectors are the package's answers, `ivicl app` serves it, it works in a Chromium.

The browser's part needs Node.js, Chromium, the npm packages and a built page (`cd web && npm ci && npm run build`). It
skips with a reason where one is missing, unless IVICL_PAGE=required, as in .ci/run.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import threading
import urllib.request
from pathlib import Path

import pytest

import page_vectors
from ivicl import BoundsResult
from ivicl.cli.page import HEADERS, page_folder, server
from ivicl.data.rules import rules
from ivicl.errors import InputError
from ivicl.results.saved import schema

ROOT = Path(__file__).parent.parent
WEB = ROOT / "web"


# --- what Python and the page share


@pytest.mark.parametrize("vector", page_vectors.read(), ids=lambda vector: vector["name"])
def test_the_vectors_are_the_packages_answers(vector):
    """Old ones would hold the page to old numbers: `python tests/page_vectors.py` makes them again."""
    found, expected = page_vectors.answer(vector).to_dict(), vector["expected"]
    span = expected["outcome_range"][1] - expected["outcome_range"][0]
    for key in ("lower", "upper"):
        assert found[key] == pytest.approx(expected[key], abs=1e-7 * span)
    for key in ("n", "n_rows", "n_dropped", "covariates", "codings", "outcome_range"):
        assert json.loads(json.dumps(found[key])) == expected[key]


def test_the_vectors_meet_every_rule_of_encoding():
    """A note that no vector has would be one that nobody compares."""
    notes = [note for vector in page_vectors.read() for note in vector["expected"]["notes"]]
    for name, template in rules()["notes"].items():
        if name in ("kept_lost", "capped"):  # missing_outcome="bounds" and cap= are left to the package
            continue
        words = re.sub(r"\\\{\w+\\\}", ".+", re.escape(template))
        assert any(re.fullmatch(words, note) for note in notes), name


def test_the_lock_file_names_no_host():
    text = (WEB / "package-lock.json").read_text(encoding="utf-8")
    assert '"resolved"' not in text
    assert "integrity" in text


def test_the_page_and_the_command_state_the_same_policy():
    (policy,) = re.findall(
        r'Content-Security-Policy" content="([^"]+)"', (WEB / "index.html").read_text(encoding="utf-8")
    )
    assert HEADERS["Content-Security-Policy"] == f"{policy}; frame-ancestors 'none'"
    assert "connect-src 'self'" in policy
    assert "default-src 'none'" in policy


# --- ivicl app


def test_without_a_built_page_the_command_says_how_to_build_it(tmp_path, monkeypatch):
    monkeypatch.setattr("ivicl.cli.page.resources.files", lambda name: tmp_path / "src" / "ivicl")
    with pytest.raises(InputError, match="npm run build"):
        page_folder(None)
    with pytest.raises(InputError, match="no built page"):
        page_folder(tmp_path)


def test_the_command_serves_the_folder_on_the_loopback_with_its_policy(tmp_path):
    (tmp_path / "index.html").write_text("the page", encoding="utf-8")
    (tmp_path / "x.wasm").write_bytes(b"\0asm")
    with server(page_folder(tmp_path)) as serving:
        threading.Thread(target=serving.serve_forever, daemon=True).start()
        host, port = serving.server_address[:2]
        assert host == "127.0.0.1"
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/") as response:
            assert response.read() == b"the page"
            assert response.headers["Cross-Origin-Opener-Policy"] == "same-origin"
            assert "connect-src 'self'" in response.headers["Content-Security-Policy"]
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/x.wasm") as response:
            assert response.headers["Content-Type"] == "application/wasm"
        with pytest.raises(InputError, match=f"port {port}"):
            server(tmp_path, port)
        serving.shutdown()


# --- in a real browser


def missing() -> str | None:
    """Why the browser's tests cannot run here; None if they can."""
    if os.environ.get("IVICL_PAGE") == "done":
        return "they ran in a stage of their own"
    if shutil.which("node") is None:
        return "there is no Node.js"
    if not any(
        shutil.which(name) for name in ("chromium", "chromium-browser", "google-chrome", os.environ.get("CHROMIUM", ""))
    ):
        return "there is no Chromium"
    if not (WEB / "node_modules" / "playwright-core").is_dir():
        return "the page's packages are not installed: cd web && npm ci"
    if not (WEB / "dist" / "index.html").is_file():
        return "the page is not built: cd web && npm run build"
    return None


@pytest.fixture(scope="module")
def downloads(tmp_path_factory):
    """The page's own tests, run once; what they saved."""
    lacking = missing()
    if lacking is not None:
        if os.environ.get("IVICL_PAGE") == "required":
            pytest.fail(lacking)
        pytest.skip(lacking)
    folder = tmp_path_factory.mktemp("page")
    run_in_browser(str(folder))
    return folder


def run_in_browser(*arguments: str, **environment: str) -> str:
    done = subprocess.run(
        ["node", "tests/run.mjs", *arguments], cwd=WEB, env=os.environ | environment, capture_output=True, text=True,
        check=False, timeout=1200,
    )  # fmt: skip
    print(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_command_gives_the_page_threads(downloads):
    """With the headers of `ivicl app` the browser isolates the page; without them it has one thread."""
    with server(page_folder(None)) as serving:
        threading.Thread(target=serving.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{serving.server_address[1]}/"
        said = run_in_browser(str(downloads), "a cold load", PAGE_URL=address)
        serving.shutdown()
    assert "several threads" in said


@pytest.mark.parametrize("name", ["counts", "covariates", "amount"])
def test_what_the_page_saves_loads_again_and_is_what_python_gives(downloads, name, tmp_path):
    jsonschema = pytest.importorskip("jsonschema")
    saved = downloads / f"{name}.json"
    jsonschema.validate(json.loads(saved.read_text(encoding="utf-8")), schema())
    result = BoundsResult.load(saved)
    assert "Bounds on an average effect" in result.summary()
    assert result.report(tmp_path / "again.html").is_file()

    for example in (WEB / "examples").glob("*.csv"):
        shutil.copy(example, tmp_path)
    call = (downloads / f"{name}.py").read_text(encoding="utf-8") + "\nres.save('python.json')\n"
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    subprocess.run([sys.executable, "-c", call], cwd=tmp_path, env=environment, check=True, capture_output=True)
    command = (
        (downloads / f"{name}.sh").read_text(encoding="utf-8").strip().replace("ivicl", f"{sys.executable} -m ivicl", 1)
    )
    subprocess.run(
        f"{command} -o shell.json", shell=True, cwd=tmp_path, env=environment, check=True, capture_output=True
    )
    span = result.outcome_range[1] - result.outcome_range[0]
    for other in ("python.json", "shell.json"):
        same = BoundsResult.load(tmp_path / other)
        assert (same.lower, same.upper) == pytest.approx((result.lower, result.upper), abs=1e-6 * span)
        assert same.codings == result.codings
        assert same.covariates == result.covariates
        assert same.notes == result.notes
