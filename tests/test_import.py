"""`import ivicl` and `ivicl counts` start at once and import nothing heavy."""

from __future__ import annotations

import os
import subprocess
import sys
import time

HEAVY = ("torch", "sklearn", "matplotlib", "pandas", "onnxruntime")


def child(program: str) -> tuple[float, str]:
    """Processor seconds (the machine may be busy) and the output of a fresh interpreter."""
    before = os.times()
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    after = os.times()
    return after.children_user - before.children_user + after.children_system - before.children_system, done.stdout


def test_import_is_light_and_fast():
    bare = min(child("pass")[0] for _ in range(3))
    seconds, out = min(child("import sys, ivicl; print(sorted(sys.modules))") for _ in range(3))
    assert not [name for name in HEAVY if f"'{name}'" in out]
    assert seconds - bare < 0.3


def test_counts_command_is_light_and_fast():
    program = (
        "import sys; sys.argv = ['ivicl', 'counts', *'12345678', '-m', 'balke-pearl']\n"
        "from ivicl.cli import app\napp(standalone_mode=False)\nprint(sorted(sys.modules))"
    )
    seconds, out = min(child(program) for _ in range(2))
    assert not [name for name in HEAVY if f"'{name}'" in out]
    assert seconds < 1.0


def test_version_flag():
    started = time.monotonic()
    _, out = child(
        "import sys; sys.argv = ['ivicl', '--version']; from ivicl.cli import app; app(standalone_mode=False)"
    )
    from ivicl import __version__

    assert out.strip() == __version__
    assert time.monotonic() - started < 60
