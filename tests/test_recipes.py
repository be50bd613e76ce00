"""Recipes: one command makes a model, goes on after any kill, and refuses a mistake before it has cost an hour."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("onnx")

from typer.testing import CliRunner  # noqa: E402

from ivicl.cli import app  # noqa: E402
from ivicl.errors import InputError  # noqa: E402
from ivicl.learn.checkpoint import load_weights  # noqa: E402
from ivicl.learn.export import rounded  # noqa: E402
from ivicl.learn.files import load_tensors  # noqa: E402
from ivicl.learn.network.config import NetworkConfig  # noqa: E402
from ivicl.learn.recipes.recipe import load_recipe  # noqa: E402
from ivicl.learn.recipes.stages import run_recipe  # noqa: E402
from ivicl.learn.scoring import LossWeights  # noqa: E402
from ivicl.learn.training import loop  # noqa: E402
from ivicl.learn.training.run import result_of  # noqa: E402
from ivicl.methods.pretrained.runtime import Model  # noqa: E402

ONLY_ROWS = {"mixed_count_batch", "compressed_batch", "row_batches", "row_tokens", "summary_lr", "rows_lr", "long_from"}
"""Settings that a stage of count tables alone never reads."""
WHERE = {"device", "precision", "save_seconds", "validate_every"}
"""Settings that change where and how often, not what is learnt."""


def call(*arguments: str) -> None:
    done = CliRunner().invoke(app, ["train", "--quiet", *arguments], catch_exceptions=False)
    assert done.exit_code == 0, done.output


def state(folder: Path) -> dict[str, torch.Tensor]:
    return load_tensors(folder / "2-rows" / "state.safetensors")[0]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the recipe smoke makes, unbroken."""
    folder = tmp_path_factory.mktemp("smoke")
    call("--recipe", "smoke", "-o", str(folder))
    return folder


def test_a_recipe_runs_to_the_end(made: Path) -> None:
    model = Model.load(made / "smoke.onnx")
    assert model.predict_counts(torch.arange(1.0, 9.0).numpy()[None]).effect.sum() == pytest.approx(1)
    network, record = load_weights(made / "smoke.onnx")
    assert network.config.summary_width == 24
    before, last = record["training"]["before"], record["training"]
    assert [(run["seed"], run["step"]) for run in [*before, last]] == [(1, 6), (2, 4)]
    # The second stage learns from where the first ended, and leaves the summary path as it was.
    first = load_tensors(made / "1-counts" / "state.safetensors")[0]
    assert torch.equal(state(made)["weights.summary.embed.weight"], first["average.module.summary.embed.weight"])
    assert not torch.equal(state(made)["weights.covariates.embed.weight"], first["weights.covariates.embed.weight"])


def test_what_is_done_is_not_done_again(made: Path) -> None:
    files = {file: file.stat().st_mtime_ns for file in made.rglob("*") if file.is_file()}
    call("--recipe", "smoke", "-o", str(made))
    assert files == {file: file.stat().st_mtime_ns for file in made.rglob("*") if file.is_file()}


@pytest.mark.parametrize("killed_at", [3, 6, 8])
def test_a_killed_recipe_goes_on_as_if_unkilled(
    killed_at: int, made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the first stage, at its end, in the second; steps since the last save are taken again, on the same tables."""
    monkeypatch.setattr(loop.Journal, "draw", lambda self: None)
    step, taken = loop.train_step, 0

    def dying(*arguments: object) -> object:
        nonlocal taken
        if taken == killed_at:
            raise KeyboardInterrupt
        taken += 1
        return step(*arguments)  # type: ignore[arg-type]

    recipe = load_recipe("smoke")
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(loop, "train_step", dying)
        run_recipe(recipe, tmp_path, {"save_seconds": 0}, progress=False)
    assert run_recipe(recipe, tmp_path, {}, progress=False) == tmp_path / "2-rows"
    unbroken, resumed = state(made), state(tmp_path)
    assert unbroken.keys() == resumed.keys()
    for name, value in unbroken.items():
        assert torch.equal(value, resumed[name]), name


def test_a_signal_stops_the_recipe_and_not_only_the_stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also when it comes in the last step of a stage."""
    monkeypatch.setattr(loop.Journal, "draw", lambda self: None)
    step = loop.train_step

    def signalled(run, processes, kept):  # type: ignore[no-untyped-def]
        if run.step == 5:
            os.kill(os.getpid(), signal.SIGTERM)
        return step(run, processes, kept)

    monkeypatch.setattr(loop, "train_step", signalled)
    assert run_recipe(load_recipe("smoke"), tmp_path, {}, progress=False) is None
    assert (tmp_path / "1-counts" / "state.safetensors").exists() and not (tmp_path / "2-rows").exists()
    assert run_recipe(load_recipe("smoke"), tmp_path, {}, progress=False) == tmp_path / "2-rows"


@pytest.mark.slow
def test_two_processes_follow_a_recipe(made: Path, tmp_path: Path) -> None:
    """Both join once, go from stage to stage together, and one of them exports."""
    launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "-m", "ivicl.cli"]
    command = ["train", "--quiet", "--threads", "1", "--recipe", "smoke", "-o", str(tmp_path)]
    for _ in range(2):  # the second time there is nothing left to do
        subprocess.run([*launch, *command], check=True, timeout=300)
    for name, value in state(made).items():
        assert torch.allclose(value, state(tmp_path)[name], rtol=0.05, atol=2e-3), name
    assert Model.load(tmp_path / "smoke.onnx").metadata["training"]["step"] == 4


@pytest.mark.slow
def test_kill_9_again_and_again(made: Path, tmp_path: Path) -> None:
    """The same command until it is through, each time killed a little later: at any moment, the export included."""
    settings = ["--set", "save_seconds=0.2"]
    command = [sys.executable, "-m", "ivicl.cli", "train", "--quiet", "--threads", "1", "--recipe", "smoke", *settings]
    kills = 0
    for patience in range(1, 40):
        process = subprocess.Popen([*command, "-o", str(tmp_path)])
        deadline = time.monotonic() + 1.5 + patience
        while process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.05)
        if process.poll() is not None:
            break
        process.send_signal(signal.SIGKILL)
        process.wait()
        kills += 1
    assert process.returncode == 0 and kills > 1
    unbroken, resumed = state(made), state(tmp_path)
    for name, value in unbroken.items():
        assert torch.allclose(value, resumed[name], atol=1e-6), name
    assert Model.load(tmp_path / "smoke.onnx").metadata["training"]["step"] == 4


def test_a_folder_belongs_to_its_recipe(made: Path, tmp_path: Path) -> None:
    text = (made / "recipe.toml").read_text()
    (tmp_path / "own.toml").write_text("# another comment\n" + text)
    call("--recipe", str(tmp_path / "own.toml"), "-o", str(made))
    (tmp_path / "own.toml").write_text(text.replace("steps = 4", "steps = 5"))
    with pytest.raises(InputError, match="begun with another recipe"):
        call("--recipe", str(tmp_path / "own.toml"), "-o", str(made))


def test_the_shipped_recipe_is_that_of_the_shipped_weights() -> None:
    """Every setting of every stage, as far as the stage reads it, against what the model file says of its making."""
    record = Model.shipped().metadata
    runs = [*record["training"]["before"], record["training"]]
    stages = load_recipe("shipped").stages
    assert len(runs) == len(stages)
    assert stages[-1].config.network == NetworkConfig.from_dict(record["network"])
    for stage, run in zip(stages, runs, strict=True):
        config = stage.config.to_dict()
        # The file has the last stage's prior alone.
        told_of = 0.0 if stage is not stages[-1] else record["prior"]["unsaid_share"]
        assert config["prior"] == record["prior"] | {"unsaid_share": told_of}
        counts_alone = run["count_steps"] == run["steps"]
        run = run | {"loss": asdict(LossWeights(**run["loss"]))}  # one that had no name yet was as it is by default
        for name, value in run.items():
            if name in config and name not in WHERE and not (counts_alone and name in ONLY_ROWS):
                assert config[name] == value, (stage.name, name)
        assert run["step"] == (stage.until or stage.config.steps)


def test_a_stage_may_hand_over_before_its_end(tmp_path: Path) -> None:
    """At the rates of the whole stage; and then it is done, also for the same command again."""
    text = (Path(loop.__file__).parents[1] / "recipes" / "smoke.toml").read_text()
    file = tmp_path / "early.toml"
    file.write_text(text.replace('from = "nothing"', 'from = "nothing"\nuntil = 2'))
    for _ in range(2):
        call("--recipe", str(file), "-o", str(tmp_path / "run"))
        record = load_tensors(tmp_path / "run" / "2-rows" / "state.safetensors")[1]
        assert [record["before"][0]["step"], record["before"][0]["steps"], record["step"]] == [2, 6, 4]


GOOD = """
[[stage]]
name = "a"
from = "nothing"
[[stage]]
name = "b"
from = "a"
[stage.settings]
steps = 3
"""


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ('from = "a"', 'from = "c"', "stage b, key 'from': 'c' is neither nothing, a nor a model file"),
        ('from = "a"', 'form = "a"', "stage b, key 'form': .*did you mean 'from'"),
        ('from = "a"\n', "", "stage b, key 'from': it is missing"),
        ('name = "b"', 'name = "a"', "stage number 2, key 'name': 'a' is taken"),
        ('name = "b"', 'name = "../b"', "stage number 2, key 'name'"),
        ("steps = 3", "stesp = 3", "stage b, key 'settings': There is no setting 'stesp'; did you mean 'steps'"),
        ("steps = 3", 'steps = "3"', "stage b, key 'settings': Setting steps takes int"),
        ("steps = 3", "network.width = 8", "stage b, key 'settings.network.width': the shape comes with the weights"),
        (
            "[stage.settings]",
            "until = 4\n[stage.settings]",
            "key 'until': it must be a step from 1 to 3, not 4",
        ),
        ("[stage.settings]", "preset = 'gpu'\n[stage.settings]", "no preset 'gpu'"),
        ("[stage.settings]\nsteps = 3", "settings = 3", "stage b, key 'settings': it must be a table"),
        ("[[stage]]", "[[stages]]", "key 'stages': .*did you mean 'stage'"),
        ("steps = 3", "steps = ", "is not TOML"),
        ("steps = 3", "[export]\nfiel = 'x'", "stage export, key 'fiel'"),
    ],
)
def test_a_mistake_is_one_sentence_with_file_stage_and_key(old: str, new: str, sentence: str, tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(GOOD)
    assert [stage.folder for stage in load_recipe(str(file)).stages] == ["1-a", "2-b"]
    file.write_text(GOOD.replace(old, new))
    with pytest.raises(InputError, match=f"mine.toml.*{sentence}"):
        load_recipe(str(file))


def test_the_recipe_of_the_docs_is_one(tmp_path: Path) -> None:
    page = (Path(__file__).parents[1] / "docs" / "training.md").read_text(encoding="utf-8")
    (tmp_path / "docs.toml").write_text(page.split("```toml\n")[1].split("```")[0], encoding="utf-8")
    recipe = load_recipe(str(tmp_path / "docs.toml"))
    assert [stage.config.network.width for stage in recipe.stages] == [64, 64]
    assert recipe.graph == "mine.onnx"


def test_what_does_not_go_with_a_recipe_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there are shipped, smoke"):
        load_recipe("shiped")
    with pytest.raises(InputError, match=r"nowhere\.toml cannot be read"):
        load_recipe(str(tmp_path / "nowhere.toml"))
    for flag in ("--preset", "--resume", "--from"):
        with pytest.raises(InputError, match=f"--recipe and {flag} exclude each other"):
            call("--recipe", "smoke", flag, "x")
    with pytest.raises(InputError, match="goes with --recipe"):
        call("--evaluation")


def test_a_stage_may_start_from_a_model_file_beside_the_recipe(made: Path, tmp_path: Path) -> None:
    (tmp_path / "old.onnx").write_bytes((made / "smoke.onnx").read_bytes())
    file = tmp_path / "more.toml"
    file.write_text("[[stage]]\nname = 'more'\nfrom = 'old.onnx'\nsettings = { count_steps = 0, steps = 0 }\n")
    (stage,) = load_recipe(str(file)).stages
    assert stage.start == tmp_path / "old.onnx"
    assert asdict(stage.config)["steps"] == 0
    last = run_recipe(load_recipe(str(file)), tmp_path / "run", {}, progress=False)
    assert last is not None
    found = load_tensors(last / "state.safetensors")[0]
    expected = rounded(result_of(made / "2-rows")[0]).state_dict()
    assert {name for name in found if name.startswith("weights.")} == {f"weights.{name}" for name in expected}
    for name, value in expected.items():
        assert torch.equal(found[f"weights.{name}"], value), f"{name}: the weights in the file, to the bit"
