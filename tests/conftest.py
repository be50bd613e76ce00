"""Random tests draw the same examples each time, so that a green run stays green; IVICL_FUZZ=1 draws new ones."""

from __future__ import annotations

import os
import sys

import pytest
from hypothesis import settings

from ivicl.cli import main
from ivicl.methods.pretrained.runtime import Model

settings.register_profile("fixed", derandomize=True)
settings.register_profile("fuzz", derandomize=False)
settings.load_profile("fuzz" if os.environ.get("IVICL_FUZZ") else "fixed")


@pytest.fixture
def run(monkeypatch, capsys):
    """Run the command in this process: (exit code, stdout, stderr)."""

    def call(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["ivicl", *arguments])
        try:
            main()
            code = 0
        except SystemExit as stopped:
            code = stopped.code if isinstance(stopped.code, int) else 0
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


@pytest.fixture
def stand_in(monkeypatch):
    """The model that answers at once, in place of the shipped one."""
    from stand_in import StandIn

    model = StandIn()
    monkeypatch.setattr(Model, "shipped", staticmethod(lambda: model))
    return model


@pytest.fixture(scope="session")
def network_file(tmp_path_factory):
    """A model file of graph schema 2: a small network that has learnt nothing. Exported once for all tests."""
    pytest.importorskip("torch")
    from small_network import small_file

    return small_file(tmp_path_factory.mktemp("second"))
