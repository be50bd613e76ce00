"""The parts of the network that have a right answer: the regression layer, the inverse, the head's grids, the ends."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from ivicl.errors import InputError  # noqa: E402
from ivicl.learn.network.arms import Arm  # noqa: E402
from ivicl.learn.network.bins import read_grid  # noqa: E402
from ivicl.learn.network.config import NetworkConfig  # noqa: E402
from ivicl.learn.network.linalg import block_inverse, inverse  # noqa: E402
from ivicl.learn.network.model import IVNetwork  # noqa: E402
from ivicl.learn.network.regression import RegressionLayer  # noqa: E402
from ivicl.learn.network.summary import Moments  # noqa: E402

PSEUDO = NetworkConfig().pseudo_count


def table(n: int = 60, d: int = 3, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(1, n, d, generator=g, dtype=torch.float64)
    label = torch.randint(0, 4, (1, n), generator=g)
    outcome = torch.nn.functional.one_hot(label, 4).double()
    weight = torch.rand(1, n, generator=g, dtype=torch.float64).round()
    return x, outcome, weight


def fit_of(x: torch.Tensor, outcome: torch.Tensor, weight: torch.Tensor, penalty: torch.Tensor) -> torch.Tensor:
    arm = Arm(x, outcome, weight, PSEUDO)
    return arm.fit(arm.solvers(penalty.view(1))[0])[0]


def logistic_of(x: torch.Tensor, outcome: torch.Tensor, weight: torch.Tensor, penalty: torch.Tensor) -> torch.Tensor:
    arm = Arm(x, outcome, weight, PSEUDO)
    return arm.logistic(penalty, arm.solvers(2 * penalty.view(1))[0])


def test_both_arms_as_one_batch_are_each_arm_alone() -> None:
    x, outcome, weight = table()
    arm = torch.stack([weight, 1 - weight], 2)
    batch = Arm.both(x, outcome, arm, PSEUDO)
    fits = batch.fit(batch.solvers(torch.tensor([3.0], dtype=x.dtype))[0])[0]
    for z in (0, 1):
        alone = fit_of(x, outcome, arm[:, :, z], torch.tensor(3.0, dtype=x.dtype))
        assert torch.allclose(fits[z], alone[0], rtol=0, atol=1e-12)
    assert (fits[0] - fits[1]).abs().max() > 0.01


def test_leave_one_out_is_refitting_without_the_row() -> None:
    x, outcome, weight = table()
    penalty = torch.tensor(3.0, dtype=torch.float64)
    fits = fit_of(x, outcome, weight, penalty)
    row = int(weight[0].nonzero()[4])
    fewer = weight.clone()
    fewer[0, row] = 0
    refitted = fit_of(x, outcome, fewer, penalty)
    # Equal up to the pseudo-counts and the penalty floor, both of order 1/n.
    assert fits[0, row].tolist() == pytest.approx(refitted[0, row].tolist(), abs=0.01)
    inside = Arm(x, outcome, weight, PSEUDO)
    plain = inside.mean + inside.centred @ (inside.solvers(penalty.view(1))[0] @ inside.moment)
    assert (plain[0, row] - refitted[0, row]).abs().max() > 0.02  # the fit that includes the row is further off


def test_logistic_leave_one_out_is_close_to_refitting() -> None:
    x, outcome, weight = table(n=80)
    penalty = torch.tensor(2.0, dtype=torch.float64)
    fits = logistic_of(x, outcome, weight, penalty)
    errors, naive = [], []
    for row in weight[0].nonzero().flatten().tolist()[:12]:
        fewer = weight.clone()
        fewer[0, row] = 0
        refitted = logistic_of(x, outcome, fewer, penalty)[0, row]
        errors.append((fits[0, row] - refitted).abs().max().item())
        own = weight.clone()
        own[0, row] = 0
        naive.append((Arm(x, outcome, weight, PSEUDO).mean[0, 0] - refitted).abs().max().item())
    assert np.mean(errors) < 0.02 < np.mean(naive)


def test_layer_finds_a_law_that_the_arms_means_miss() -> None:
    g = torch.Generator().manual_seed(1)
    x = torch.randn(1, 800, 4, generator=g)
    truth = torch.stack([(8 * x[0, :, 0]).sigmoid(), 1 - (8 * x[0, :, 0]).sigmoid()], 1)
    label = torch.multinomial(truth, 1, generator=g).squeeze(1) * 3
    outcome = torch.nn.functional.one_hot(label, 4).float().unsqueeze(0)
    z = (torch.rand(1, 800, generator=g) < 0.5).float()
    arm = torch.stack([1 - z, z], 2)
    columns = torch.cat([x, torch.zeros(1, 800, 60)], 2)
    layer = RegressionLayer(64, 64, 16, 3, PSEUDO).train()
    law = layer(columns, torch.ones(1, 64), outcome, arm).law
    error = (law[0, :, :, 0] - truth[:, :1]).abs().mean()
    assert error < 0.08  # the means are off by 0.4


def test_fits_of_noise_shrink_to_the_means() -> None:
    x, outcome, _ = table(n=400, d=8, seed=3)
    z = (torch.arange(400) % 2).double().unsqueeze(0)
    columns = torch.cat([x, torch.zeros(1, 400, 56, dtype=torch.float64)], 2)
    layer = RegressionLayer(64, 64, 16, 3, PSEUDO).eval()
    law = layer(columns, torch.ones(1, 64), outcome, torch.stack([1 - z, z], 2)).law
    # What least squares on the eight columns alone make of noise; the layer also has 64 bent ones and the trees.
    plain = []
    for arm in (0, 1):
        here = z[0] == arm
        design = torch.cat([torch.ones(400, 1).double(), x[0].double()], 1)
        plain.append((design @ torch.linalg.lstsq(design[here], outcome[0, here].double()).solution).std(0))
    assert (law.std(1)[0] < 0.8 * torch.stack(plain)).all()


@pytest.mark.parametrize("condition", [1e1, 1e4, 1e6])
@pytest.mark.parametrize("size", [64, 80, 128])
def test_inverse_by_matmuls(size: int, condition: float) -> None:
    g = torch.Generator().manual_seed(0)
    basis, _ = torch.linalg.qr(torch.randn(3, size, size, generator=g, dtype=torch.float64))
    values = torch.logspace(0, float(np.log10(condition)), size, dtype=torch.float64)
    matrix = basis @ torch.diag(values) @ basis.transpose(1, 2)
    found = block_inverse(matrix, torch.ones(3, 1, 1, dtype=torch.float64))
    assert (found @ matrix - torch.eye(size)).abs().max() < 1e-6


def test_gradient_of_the_inverse() -> None:
    matrix = torch.randn(2, 5, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    gram = (matrix @ matrix.transpose(1, 2)).requires_grad_()
    assert torch.autograd.gradcheck(
        lambda m: inverse(0.5 * (m + m.transpose(1, 2)), torch.ones(2, dtype=m.dtype)), gram
    )


def test_grid_is_read_by_linear_interpolation() -> None:
    values = torch.tensor([[0.0, 1.0, 4.0]])
    place = torch.tensor([[-1.0, 0.0, 0.25, 0.5, 0.75, 1.0, 2.0]])
    assert read_grid(values, place).tolist()[0] == pytest.approx([0, 0, 0.5, 1, 2.5, 4, 4])


def test_without_covariates_the_summary_path_alone_answers() -> None:
    shape = {"width": 16, "heads": 4, "latents": 4, "regression_features": 8, "row_hidden": 16, "trees": 4}
    network = IVNetwork(NetworkConfig(**shape)).eval()
    for parameter in network.covariate_heads.parameters():
        torch.nn.init.normal_(parameter)
    counts = torch.tensor([[30.0, 5, 4, 2, 12, 3, 9, 11]])
    z, t, y = ((torch.arange(8) // k % 2).float().unsqueeze(0) for k in (4, 2, 1))
    one, design = torch.ones(1, 1).double(), torch.ones(1, 11)
    with torch.no_grad():
        rows = network.canonical(torch.zeros(1, 8, 2), z, t, y, 0 * y, counts, 0 * one.float(), design)
        alone = network.from_moments(Moments(counts.double(), torch.ones(1, 4).double(), one, 0 * one))
    assert (rows.effect.exp() - alone.effect.exp()).abs().sum() < 1e-5
    assert (rows.masses.exp() - alone.masses.exp()).abs().max() < 1e-5


def test_config_refuses_what_cannot_be() -> None:
    for wrong in ({"trees": 0}, {"gamma": 0.0}, {"width": 10, "heads": 4}):
        with pytest.raises(InputError):
            NetworkConfig(**wrong)
    config = NetworkConfig(width=32)
    assert NetworkConfig.from_dict(config.to_dict() | {"architecture": "second"}) == config
    with pytest.raises(InputError, match="no setting 'attention'"):
        NetworkConfig.from_dict({"attention": "induced", "width": 96})
