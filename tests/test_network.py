"""The network: what must not change its answer does not, what must mirror it does, its formulas are right."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from ivicl.learn.network import (  # noqa: E402
    grids,
    prepare,
    recode,
)
from ivicl.learn.network.ends import LOWEST, QUANTITIES, Rows, estimate  # noqa: E402
from ivicl.learn.network.leaves import added_by_matmuls, added_up  # noqa: E402
from ivicl.learn.network.mixture import mixture  # noqa: E402
from ivicl.learn.network.model import IVNetwork, soft_cells  # noqa: E402
from ivicl.learn.network.summary import Moments, count_estimates, moments_of  # noqa: E402
from ivicl.learn.network.trees import Trees  # noqa: E402
from ivicl.learn.prior import Form, PriorConfig, generator_for, sample_counts, sample_rows  # noqa: E402
from ivicl.learn.scoring import LossWeights  # noqa: E402
from ivicl.learn.training.losses import count_loss, table_loss  # noqa: E402
from small_network import SMALL, small_network  # noqa: E402

DEFAULT = PriorConfig.default()
FORMS = [Form(), Form(4, True), Form(3, True, True)]
FLIPS = {"y": 2, "t": 4, "z": 1}
"""Which of CODINGS flips the column alone."""


@pytest.fixture(scope="module")
def network():
    return small_network()


def inputs(form: Form, tables: int = 3, rows: int = 120, columns: int = 4, seed: int = 0) -> dict:
    batch = sample_rows(DEFAULT, generator_for(seed, 0), tables, rows, columns, form)
    return {
        "x": batch.x.double(), "z": batch.z, "t": batch.t, "y": batch.y, "v": batch.v, "w": batch.w,
        "no_defiers": torch.full((tables, 1), float(form.no_defiers)), "design": torch.ones(tables, QUANTITIES),
    }  # fmt: skip


def answer(network, table: dict) -> tuple:
    with torch.no_grad():
        return network(*table.values())


def distance(one: tuple, two: tuple) -> float:
    """Largest difference: half the variation of the effect, anchors in units, masses of the grids."""
    effect = (one[0].exp() - two[0].exp()).abs().sum(1).max() / 2
    anchor = ((one[1] - two[1]) / one[2]).abs().max()
    return max(float(effect), float(anchor), float((one[3].exp() - two[3].exp()).abs().max()))


@pytest.mark.parametrize("form", FORMS)
def test_what_a_caller_chose_at_will_does_not_show(network, form):
    table = inputs(form)
    before = answer(network, table)
    rows = torch.randperm(120, generator=torch.Generator().manual_seed(2))
    columns = torch.tensor([2, 0, 3, 1])
    x = table["x"]
    same = {
        "order of rows": {k: v[:, rows] if v.shape[1] == 120 else v for k, v in table.items()},
        "order of covariates": table | {"x": x[:, :, columns]},
        "units": table | {"x": x * torch.tensor([1e6, 1e-6, -3.0, 1.0]).double() + 7},
        "a constant covariate": table | {"x": torch.cat([x, torch.full_like(x[:, :, :1], 3.3)], 2)},
        "padding": {
            k: torch.cat([v, torch.zeros_like(v[:, :9])], 1) if v.shape[1] == 120 else v for k, v in table.items()
        },
        "coding of z": table | {"z": 1 - table["z"]},
    }
    for name, changed in same.items():
        assert distance(before, answer(network, changed)) < 2e-5, name
    # Controls: what is a different table has a different answer.
    assert distance(before, answer(network, table | {"x": x[:, rows]})) > 1e-3
    assert distance(before, answer(network, table | {"w": 3 * table["w"]})) > 1e-3
    assert distance(before, answer(network, table | {"y": 0.9 * table["y"]})) > 1e-3
    assert distance(before, answer(network, table | {"no_defiers": 1 - table["no_defiers"]})) > 1e-3


@pytest.mark.parametrize("form", FORMS)
def test_copies_and_weights_are_the_same(network, form):
    table = inputs(form)
    copies = {k: torch.cat([v] * 3, 1) if v.shape[1] == 120 else v for k, v in table.items()}
    assert distance(answer(network, copies), answer(network, table | {"w": 3 * table["w"]})) < 2e-5


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("column", ["y", "t"])
def test_recoding_mirrors(network, form, column):
    table = inputs(form, seed=3)
    before, after = answer(network, table), answer(network, table | {column: 1 - table[column]})
    coding = torch.full((3,), FLIPS[column])
    back = (
        after[0].flip(1), recode.values(after[1], coding), recode.pick(after[2], coding),
        recode.masses(after[3], coding),
    )  # fmt: skip
    assert distance(before, back) < 2e-5
    assert distance(before, after) > 1e-3  # a control


@pytest.mark.parametrize("share", [0.5, 0.495, 0.505])
def test_nothing_jumps_at_a_tie_of_codings(network, share):
    """Half treated, half with y = 1, no first stage: all eight codings share the answer, which mirrors exactly."""
    ones = round(200 * share)
    pattern = torch.cat([torch.ones(ones), torch.zeros(200 - ones)])
    generator = torch.Generator().manual_seed(4)
    t, y = (pattern[torch.randperm(200, generator=generator)][None] for _ in range(2))
    table = {
        "x": torch.randn(1, 200, 2, generator=generator).double(), "z": torch.tensor([0.0, 1.0] * 100)[None], "t": t,
        "y": y, "v": torch.zeros(1, 200), "w": torch.ones(1, 200), "no_defiers": torch.zeros(1, 1),
        "design": torch.ones(1, QUANTITIES),
    }  # fmt: skip
    before = answer(network, table)
    for column, coding in FLIPS.items():
        after = answer(network, table | {column: 1 - table[column]})
        code = torch.tensor([coding])
        effect = after[0] if column == "z" else after[0].flip(1)
        back = (effect, recode.values(after[1], code), recode.pick(after[2], code), recode.masses(after[3], code))
        assert distance(before, back) < 2e-5, column


def test_merged_amounts_have_the_moments_of_their_people():
    rng = np.random.default_rng(0)
    y = torch.tensor(rng.random((1, 60)).astype(np.float32))
    z, t = (torch.tensor(rng.integers(0, 2, (1, 60))).float() for _ in range(2))
    one = moments_of(soft_cells(z, t, y), y, torch.zeros_like(y), torch.ones_like(y), 1e8)
    key = (2 * z + t)[0]
    merged_z, merged_t, mean, variance, people = [], [], [], [], []
    for cell in range(4):
        inside = y[0][key == cell].double()
        merged_z.append(cell // 2), merged_t.append(cell % 2)
        mean.append(inside.mean()), variance.append(inside.var(correction=0)), people.append(float(len(inside)))
    rows = [torch.tensor([values]).double() for values in (merged_z, merged_t, mean, variance, people)]
    two = moments_of(soft_cells(*rows[:3]), rows[2], rows[3], rows[4], 1e8)
    for first, second in zip(one, two, strict=True):
        torch.testing.assert_close(first, second, atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize("form", [Form(), Form(4, True)])
def test_the_ends_at_the_true_law_are_the_labels_and_their_errors_are_as_large_as_said(form):
    trials = DEFAULT.with_options(randomised_share=1.0, even_arms_share=1.0)
    batch = sample_rows(trials, generator_for(5, 0), 400, 600, 2, form)
    rows = Rows(soft_cells(batch.z, batch.t, batch.y).double(), batch.v.double(), batch.w.double())
    noise = torch.full((400, 1), 0.02).double()
    found = estimate(batch.law.flatten(3).double(), batch.propensity.double(), rows, noise)
    labels = torch.cat([batch.ends, batch.late[:, None]], 1)
    treated = (batch.law[..., 1, :].sum(-1).mean(-1)).mean(1)
    both = (treated > 1e-3) & (treated < 1 - 1e-3)  # effects on a share of nobody are nothing
    assert both.sum() > 300
    torch.testing.assert_close(found.plug_in[both, :10].float(), batch.ends[both], atol=2e-5, rtol=0)
    sure = found.se[:, :6] > 5e-3  # the ratios among the others are not normal in samples of this size
    step = ((found.one_step - found.plug_in) / found.se)[:, :6][sure]
    assert 0.9 < float(step.std()) < 1.1 and abs(float(step.mean())) < 0.06
    assert labels.shape == found.plug_in.shape


def test_standard_errors_without_covariates_are_those_of_the_samples():
    """The spread of the plug-in over many samples of one law is what is said of one, for amounts and for 0 and 1."""
    rng = np.random.default_rng(1)
    for amounts in (False, True):
        law = np.array([[[0.35, 0.25], [0.15, 0.25]], [[0.15, 0.2], [0.2, 0.45]]])
        found, said = [], []
        for _ in range(300):
            counts, spread = np.zeros((2, 2, 2)), np.ones((2, 2))
            for z in (0, 1):
                cells = rng.multinomial(2000, law[z].ravel()).reshape(2, 2)
                for t in (0, 1):
                    m, people = law[z, t, 1] / law[z, t].sum(), cells[t].sum()
                    if amounts:
                        y = rng.beta(8 * m, 8 * (1 - m), people)
                        counts[z, t] = (1 - y).sum(), y.sum()
                        spread[z, t] = y.var() / (y.mean() * (1 - y.mean()))
                    else:
                        counts[z, t] = cells[t]
            flag = torch.tensor([[float(not amounts)]]).double()
            moments = Moments(torch.tensor(counts.reshape(1, 8)), torch.tensor(spread.reshape(1, 4)), flag, 0 * flag)
            estimates = count_estimates(moments, 0.4)
            found.append(estimates.value[0].numpy()), said.append(estimates.se[0].numpy())
        ratio = np.std(found, axis=0) / np.mean(said, axis=0)
        assert (np.abs(ratio - 1) < 0.16).all(), ratio


def test_grids_hold_their_mass_where_it_can_be():
    grid = grids.Grid(torch.tensor([[0.98, -0.3]]).double(), torch.tensor([[0.05, 1e-4]]).double())
    lowest = torch.tensor([0.0, -1.0]).double()
    masses = grids.log_masses(torch.zeros(1, 2, grids.CELLS), grid, lowest)
    edges = grids.edges(grid, lowest)
    assert edges.max() <= 1 and edges[0, 0].min() >= 0
    assert torch.allclose(masses.exp().sum(-1), torch.ones(1, 2))
    outside = (edges[..., 1:] - edges[..., :-1]) <= 0
    assert outside.any() and masses.exp()[outside].max() < 1e-12
    # The density integrates to one, so it is one that can be compared between tables.
    points = torch.linspace(-0.306, -0.294, 20_001, dtype=torch.float64)
    values = torch.stack([torch.full_like(points, 0.9), points], 1)
    many = grids.Grid(*(part.expand(len(points), 2) for part in grid))
    density = grids.log_density(masses.expand(len(points), -1, -1), many, lowest, values)[:, 1].exp()
    assert float((density * (points[1] - points[0])).sum()) == pytest.approx(1, abs=2e-3)


def test_a_mixture_of_one_is_itself_and_of_two_lies_between():
    generator = torch.Generator().manual_seed(5)
    grid = grids.Grid(torch.tensor([[0.1], [0.14]]).double(), torch.tensor([[0.02], [0.03]]).double())
    masses = grids.log_masses(torch.randn(2, 1, grids.CELLS, generator=generator), grid, torch.tensor([-1.0]).double())
    alone, reference = grids.mixed(masses[:1], grids.Grid(grid.anchor[:1], grid.unit[:1]), torch.ones(1, 1).double())
    torch.testing.assert_close(alone.exp(), masses[:1].exp(), atol=1e-6, rtol=0)
    both, reference = grids.mixed(masses, grid, torch.tensor([[0.4, 0.6]]).double())

    def mean(log_mass, of):
        edges = grids.edges(of, torch.tensor([-1.0]).double())
        return float((log_mass.exp() * (edges[..., 1:] + edges[..., :-1]) / 2).sum(-1).flatten()[0])

    parts = [mean(masses[k : k + 1], grids.Grid(grid.anchor[k : k + 1], grid.unit[k : k + 1])) for k in (0, 1)]
    assert mean(both, reference) == pytest.approx(0.4 * parts[0] + 0.6 * parts[1], abs=1e-3)


def test_quantities_under_recoding_are_those_of_the_recoded_law():
    batch = sample_rows(DEFAULT, generator_for(6, 0), 12, 40, 1, Form(3, True))
    truth = torch.cat([batch.ends, batch.late[:, None]], 1).double()
    for column, code in FLIPS.items():
        law = batch.law.flip({"y": 4, "t": 3, "z": 2}[column])
        chance = 1 - batch.propensity if column == "z" else batch.propensity
        from ivicl.learn.prior.labels import estimand_ends

        ends = estimand_ends(law, chance, torch.full_like(chance, 1 / 40))
        coding = torch.full((12,), code)
        torch.testing.assert_close(recode.values(truth, coding)[:, :10].float(), ends, atol=3e-5, rtol=0)
    assert len(prepare.CODINGS) == len(recode.SOURCE) and len(LOWEST) == QUANTITIES


def test_leaves_add_up_alike_by_sums_and_by_matmuls():
    """The graph has the second form, because every runtime knows it; training the first, because it is faster."""
    leaf = torch.randint(0, 8, (2, 5, 40), generator=torch.Generator().manual_seed(0)).float()
    shown = torch.rand(2, 1, 40, 8, generator=torch.Generator().manual_seed(1))
    found, expected = added_up(leaf, 8, shown), added_by_matmuls(leaf, 8, shown)
    assert found.shape == (2, 5, 40, 8)
    assert torch.allclose(found, expected, atol=1e-5)


def test_trees_find_a_region_and_never_see_the_person_they_predict():
    generator = torch.Generator().manual_seed(7)
    x = torch.randn(1, 3000, 8, generator=generator)
    chance = torch.where(x[0, :, 0] > 0.4, 0.9, 0.1)
    y = (torch.rand(3000, generator=generator) < chance).float()[None]
    z, t = torch.tensor([0.0, 1.0] * 1500)[None], torch.zeros(1, 3000)
    cell = soft_cells(z, t, y)
    outcome, arm = cell[:, :, :4] + cell[:, :, 4:], torch.stack([1 - z, z], -1)
    score = torch.tensor([[1.0, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1]])
    mean = torch.full((1, 2, 4), 0.25)
    forest, chosen = Trees(32, 3)(x, score, outcome, arm, mean)
    error = [(part[0, :, :, 1] - chance[:, None]).abs().mean() for part in (forest, chosen)]
    assert error[1] < 0.05 < error[0]
    changed = outcome.clone()
    changed[0, 0] = changed[0, 0].flip(0)[[2, 3, 0, 1]]  # that person's outcome alone
    after, _ = Trees(32, 3)(x, score, changed, arm, mean)
    assert (after[0, 0, 0] - forest[0, 0, 0]).abs().max() < 1e-6
    assert (after - forest).abs().max() > 1e-6  # others do see it


def test_the_mixture_prefers_the_candidate_that_predicts():
    generator = torch.Generator().manual_seed(8)
    good = torch.tensor([0.7, 0.3, 0.0, 0.0])
    y = (torch.rand(1, 4000, generator=generator) < 0.3).float()
    outcome = torch.stack([1 - y, y, 0 * y, 0 * y], -1)
    bad = torch.tensor([0.5, 0.5, 0.0, 0.0])
    stack = torch.stack([good, bad]).expand(1, 4000, 2, 2, 4).clamp(min=1e-3)
    arm = torch.stack([torch.ones(1, 4000), torch.zeros(1, 4000)], -1)
    shares = mixture(stack, outcome, arm)
    assert shares[0, 0, 0] > 0.75
    assert shares[0, 1].tolist() == pytest.approx([0.5, 0.5])  # an empty arm
    assert torch.allclose(shares.sum(-1), torch.ones(1, 2), atol=1e-4)


@pytest.mark.parametrize("form", FORMS)
def test_losses_are_finite_and_teach(network, form):
    torch.manual_seed(1)
    fresh = IVNetwork(SMALL).train()
    rows = sample_rows(DEFAULT, generator_for(9, 0), 4, 64, 3, form)
    counts = sample_counts(DEFAULT, generator_for(9, 1), 64, 4, form)
    for loss in (
        count_loss(fresh, counts, LossWeights(), generator_for(9, 2)),
        table_loss(fresh, rows, LossWeights(), generator_for(9, 3)),
    ):
        assert all(torch.isfinite(value) for value in loss.values())
        loss["loss"].backward()
    silent = [name for name, p in fresh.named_parameters() if p.requires_grad and p.grad is None]
    assert not silent, silent
    assert not any(torch.isnan(p.grad).any() for p in fresh.parameters() if p.grad is not None)


def test_a_table_worth_a_quarter_of_its_people_is_a_table_of_a_quarter_of_them(network):
    """Without covariates. Allowed for twice, in counts and in the unit, a design once made intervals too wide."""
    table = inputs(Form(), columns=0)
    told = answer(network, table | {"design": torch.full((3, QUANTITIES), 0.25)})
    fewer = answer(network, table | {"w": 0.25 * table["w"]})
    assert distance(told, fewer) < 1e-5
    torch.testing.assert_close(told[2], fewer[2])
    assert distance(told, answer(network, table)) > 1e-3  # a control


def test_each_quantity_has_a_factor_of_its_own_and_the_effect_the_smaller_of_its_ends(network):
    table = inputs(Form(), columns=0)
    both, first = torch.full((3, QUANTITIES), 0.25), torch.full((3, QUANTITIES), 1.0)
    first[:, 0] = 0.25
    one, two = (answer(network, table | {"design": design}) for design in (both, first))
    torch.testing.assert_close(one[0], two[0])
    torch.testing.assert_close(one[2][:, :1], two[2][:, :1])
    free = one[2][:, 1:] < 0.5  # no unit is larger
    torch.testing.assert_close(0.5 * one[2][:, 1:][free], two[2][:, 1:][free])


@pytest.mark.parametrize("factor", [0.25, 4.0])
def test_with_covariates_a_design_widens_the_unit_once_and_moves_no_law(network, factor):
    table = inputs(Form(4, True))
    plain = answer(network, table)
    told = answer(network, table | {"design": torch.full((3, QUANTITIES), factor)})
    wanted, free = (plain[2] / factor**0.5).clamp(max=0.5), plain[2] < 0.5  # no unit is larger
    torch.testing.assert_close(told[2][free], wanted[free], rtol=0.02, atol=0)
    torch.testing.assert_close(told[4], plain[4], rtol=0, atol=2e-2)


def test_a_grid_learns_from_the_shape_of_the_density_and_not_only_to_shrink():
    """Labels from a normal law: the gradients of anchor and unit are those of the expected log density.

    The density has steps; without care its gradient in the unit is -1 whatever the data say, and every grid shrinks.
    """
    lowest = torch.tensor([-1.0]).double()
    labels = 0.1 + 0.02 * torch.randn(200_000, generator=torch.Generator().manual_seed(11)).double()
    raw = torch.zeros(1, 1, grids.CELLS)

    def expected(shift: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
        grid = grids.Grid((0.1 + 0.02 * shift).view(1, 1), (0.02 * scale.exp()).view(1, 1))
        masses = grids.log_masses(raw, grid, lowest)
        many = grids.Grid(*(part.expand(len(labels), 1) for part in grid))
        return grids.log_density(masses.expand(len(labels), -1, -1), many, lowest, labels.unsqueeze(1)).mean()

    for place in ((0.0, -1.2), (0.0, 1.0), (0.7, 0.0), (-0.5, 0.4)):
        shift, scale = (torch.tensor(value).double().requires_grad_() for value in place)
        told = torch.autograd.grad(expected(shift, scale), (shift, scale))
        step = 0.05
        with torch.no_grad():
            rises = [
                expected(shift + step, scale) - expected(shift - step, scale),
                expected(shift, scale + step) - expected(shift, scale - step),
            ]
        for gradient, rise in zip(told, rises, strict=True):
            assert float(gradient) == pytest.approx(float(rise) / (2 * step), abs=0.06), place
    shift, scale = (torch.tensor(0.0).double().requires_grad_() for _ in range(2))
    small = torch.tensor(-1.5).double().requires_grad_()
    assert float(torch.autograd.grad(expected(shift, small), small)[0]) > 0.5  # a grid that is too fine grows
