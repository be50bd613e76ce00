"""A network that grows answers as before, and what was made alike learns apart."""

from __future__ import annotations

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from ivicl.errors import InputError  # noqa: E402
from ivicl.learn.growth import grown  # noqa: E402
from ivicl.learn.network.model import IVNetwork  # noqa: E402
from ivicl.learn.prior import Form, PriorConfig, generator_for, sample_counts, sample_rows  # noqa: E402
from ivicl.learn.scoring import LossWeights  # noqa: E402
from ivicl.learn.training.config import TrainConfig  # noqa: E402
from ivicl.learn.training.loop import train  # noqa: E402
from ivicl.learn.training.losses import count_loss, table_loss  # noqa: E402
from ivicl.learn.training.run import Run  # noqa: E402

SMALL = {
    "network.width": 16, "network.row_hidden": 16, "network.latents": 4, "network.regression_features": 8,
    "network.trees": 4, "network.tree_depth": 2, "network.depth": 1, "network.summary_width": 12,
    "network.summary_depth": 2, "network.covariate_width": 16, "network.max_features": 4, "count_batch": 32,
    "mixed_count_batch": 16, "compressed_batch": 4, "row_tokens": 256, "rows": [16, 32], "long_rows": [16, 64],
    "covariates": [1, 3], "count_steps": 2, "steps": 4, "warmup": 1, "validate_every": 0, "summary_lr": 0.5,
}  # fmt: skip


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run whose every matrix has learnt something."""
    folder = tmp_path_factory.mktemp("narrow")
    train(Run.begin(TrainConfig(), SMALL, folder), progress=False)
    return folder


def losses(network: IVNetwork) -> list[float]:
    found = []
    prior = PriorConfig.default()
    with torch.no_grad():
        for k, form in enumerate((Form(), Form(3, True), Form(2, False, True))):
            counts = sample_counts(prior, generator_for(7, 1, k), 64, 4, form)
            rows = sample_rows(prior, generator_for(7, 2, k), 4, 60, 3, form)
            for loss, batch in ((count_loss, counts), (table_loss, rows)):
                found.append(loss(network.eval(), batch, LossWeights(), generator_for(7, 3, k))["loss"].item())
    return found


@pytest.mark.parametrize("times", [2, 3])
def test_a_wider_network_begins_with_the_same_answers(start: Path, tmp_path: Path, times: int) -> None:
    wide = Run.begin(TrainConfig(), {**SMALL, "network.summary_width": 12 * times}, tmp_path, start)
    narrow = Run.begin(TrainConfig(), SMALL, tmp_path, start)
    assert wide.network.summary.embed.weight.shape[0] == 12 * times
    assert losses(wide.network) == pytest.approx(losses(narrow.network), abs=2e-4)


def test_the_copies_of_a_unit_learn_apart(start: Path, tmp_path: Path) -> None:
    run = Run.begin(TrainConfig(), {**SMALL, "network.summary_width": 24}, tmp_path, start)
    weight = run.network.summary.embed.weight
    assert torch.equal(weight[:12], weight[12:])
    train(run, progress=False)
    moved = (weight[:12] - weight[12:]).abs().amax(1)
    assert (moved > 1e-5).all()


@pytest.mark.parametrize("change", [{"network.summary_width": 18}, {"network.latents": 8}])
def test_other_growth_is_refused(start: Path, tmp_path: Path, change: dict[str, int]) -> None:
    with pytest.raises(InputError, match=r"grows in network\.summary_width alone, here to a multiple of 12"):
        Run.begin(TrainConfig(), {**SMALL, **change}, tmp_path, start)


def test_without_a_change_nothing_is_touched(start: Path) -> None:
    network = Run.resume(start).network
    weights = network.state_dict()
    assert grown(weights, network.config, network.config, torch.Generator()) is weights


def test_the_effect_has_a_weight_of_its_own() -> None:
    network = IVNetwork(TrainConfig().with_values({k: v for k, v in SMALL.items() if "." in k}).network)
    batch = sample_counts(PriorConfig.default(), generator_for(8, 1), 16, 4)
    one, three = (count_loss(network, batch, LossWeights(effect=e), generator_for(8, 2)) for e in (1.0, 3.0))
    assert (three["loss"] - one["loss"]).item() == pytest.approx(2 * one["effect"].item(), rel=1e-5)
