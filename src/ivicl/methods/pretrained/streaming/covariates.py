"""The covariates' path of `learn.network.rows`: latents read rows chunk by chunk, then rows' laws, then the pool."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ivicl.methods.pretrained.streaming.constants import CALM, PACE, PERSON, STAYS, TRAINED_ROWS, TRUST, VARIES
from ivicl.methods.pretrained.streaming.doubts import DoubtSums
from ivicl.methods.pretrained.streaming.ends import EndSums
from ivicl.methods.pretrained.streaming.kept import Kept
from ivicl.methods.pretrained.streaming.layers import Layers, RunningSoftmax, gelu, softmax
from ivicl.methods.pretrained.streaming.outward import Limit
from ivicl.methods.pretrained.streaming.regression import Regressed, Regression
from ivicl.methods.pretrained.streaming.seen_rows import SeenRows
from ivicl.methods.pretrained.streaming.source import Chunk, Recoded
from ivicl.methods.pretrained.streaming.steady import SteadySums
from ivicl.methods.pretrained.streaming.summary import Summarised
from ivicl.methods.pretrained.streaming.sums import LawSums

_NAME = "covariates"


@dataclass(frozen=True)
class Found:
    """What the rows of a table say."""

    pooled: np.ndarray
    """(C,) for the heads."""
    anchor: np.ndarray
    """(Q,)."""
    unit: np.ndarray
    """(Q,)."""
    limit: Limit
    rows: SeenRows


def read_rows(
    rows: Recoded,
    regression: Regression,
    layers: Layers,
    depth: int,
    told: Summarised,
    temperature: float,
    fewest: float,
) -> Found:
    """temperature: differences of terms that are noise; fewest: people in an arm."""
    path = _Path(rows, regression, layers, told.hidden)
    by_layer, by_rows, doubts, steady = EndSums(temperature), EndSums(temperature), DoubtSums(), SteadySums(temperature)
    for block in range(depth):
        path.read(block)
    mean, seen = path.finish((by_layer, doubts, steady), by_rows)
    first, refined, firm = by_layer.estimates(), by_rows.estimates(), steady.answer()
    # Adjusting for covariates takes away part of the variance, seldom nearly all.
    unit = np.maximum(first.se, 0.15 * told.se)
    steps = [(first.one_step - first.plug_in) / unit, (refined.plug_in - first.plug_in) / unit]
    apart = (refined.one_step - first.one_step) / unit
    news = [first.plug_in, np.log(unit) / 9 + 1, (steps[0] / 3).clip(-3, 3)]
    news += [(step / 3).clip(-0.5, 0.5) for step in (steps[1], apart)]
    news += [regression.shares.reshape(-1), doubts.answer(unit), firm.news(first.one_step, unit)]
    hidden = layers.linear(f"{_NAME}.gather", np.concatenate([mean, path.latents.mean(0), told.hidden]))
    hidden = hidden + layers.linear(f"{_NAME}.heed", np.concatenate(news), bias=False)
    pooled = layers.norm(f"{_NAME}.pool.2", layers.linear(f"{_NAME}.pool.1", gelu(hidden)))
    every = np.concatenate([np.stack(steps), (firm.ends - first.plug_in) / unit])
    trust = PACE * layers.linear(f"{_NAME}.trust", pooled).reshape(1 + len(every), -1)
    trust[1] += TRUST
    mix = softmax(trust.T).T
    anchor = first.plug_in + unit * (mix[1:] * every).sum(0).clip(-40, 40)
    wide = np.maximum(unit, PERSON / max(rows.source.total, 1.0))
    limit = Limit.of(firm.ends, wide, doubts.spread, fewest)
    wide = wide * np.array(CALM) * beyond_training(rows.count, doubts.spread)
    return Found(pooled, anchor, wide, limit, seen)


def beyond_training(rows: int, spread: float) -> float:
    """What a unit is multiplied by where a table has more rows than the network has learnt from.

    Errors of P(Z=1 | x) and of the law that the regressions cannot follow do not fall with the number of rows; together
    they move a one-step end. Where the instrument depends on nothing they do not.
    """
    stays = STAYS * min(spread / VARIES, 1.0)
    return float(np.sqrt(1 + stays**2 * max(rows / TRAINED_ROWS - 1, 0.0)))


class _Path:
    """Latents that have read so many blocks; rows are brought there again whenever they are needed."""

    def __init__(self, rows: Recoded, regression: Regression, layers: Layers, summary: np.ndarray) -> None:
        self._rows, self._regression, self._layers = rows, regression, layers
        latents = layers.weights[f"{_NAME}.latents"] + layers.linear(f"{_NAME}.condition", summary)
        self.latents = latents.astype(np.float32)
        self._seen: list[np.ndarray] = []
        self._known = Kept(rows.room)
        weight = layers.weights[f"{_NAME}.embed.weight"].T
        kept = regression.columns
        self._of_x, self._of_cells, self._of_features = (
            weight[: rows.columns],
            weight[kept : kept + 8],
            weight[kept + 8 :],
        )

    def read(self, block: int) -> None:
        """The latents read all rows, and think."""
        name = f"{_NAME}.blocks.{block}"
        running = RunningSoftmax(self._layers.queries(f"{name}.read", self.latents))

        def work(chunk: Chunk) -> tuple[np.ndarray, ...]:
            keys, values = self._layers.keys_and_values(f"{name}.read", self._tokens(chunk)[1])
            return running.part(keys, values, np.log(chunk.w).astype(np.float32))

        for _, part in self._rows.sweep(work):
            running.add(part)
        latents = self._layers.read(f"{name}.read", self.latents, running.answer)
        latents = self._layers.attend(f"{name}.think", latents, latents)
        self.latents = self._layers.residual(f"{name}.latent_mlp", latents)
        self._seen.append(self.latents)

    def finish(self, by_layer: tuple[LawSums, ...], by_rows: LawSums) -> tuple[np.ndarray, SeenRows]:
        """The mean of the rows' tokens (E,), and the laws of some of them.

        Into the sums goes what the layer's laws say, and what they say as the network corrects them.
        """
        total, seen = np.zeros(self.latents.shape[1]), []

        def work(
            chunk: Chunk,
        ) -> tuple[np.ndarray, list[list[np.ndarray]], tuple[np.ndarray, np.ndarray, np.ndarray]]:
            known, tokens = self._tokens(chunk)
            tokens = self._layers.norm(f"{_NAME}.row_norm", tokens)
            change = self._layers.linear(f"{_NAME}.law", tokens).reshape(-1, 2, 4).astype(np.float64)
            law, log_law, chance = np.exp(known.log_law), known.log_law, known.propensity
            parts = [sums.part(chunk, law, chance) for sums in by_layer]
            parts.append(by_rows.part(chunk, softmax(log_law + change), chance))
            here, places = self._rows.source.shown(chunk.number)
            return chunk.w @ tokens, parts, (places, law[here], chance[here])

        for _, (tokens, parts, shown) in self._rows.sweep(work):
            total += tokens
            for sums, part in zip((*by_layer, by_rows), parts, strict=True):
                sums.add(part)
            seen.append(shown)
        return total / self._rows.source.total, SeenRows.of(seen)

    def _tokens(self, chunk: Chunk) -> tuple[Regressed, np.ndarray]:
        """The chunk's rows after the blocks whose latents are known."""
        known = Regressed(self._known.get(chunk.number, lambda: self._regression.features(chunk)))
        cell = 4 * chunk.z + 2 * chunk.t
        tokens = chunk.x @ self._of_x
        tokens += known.features @ self._of_features
        tokens += chunk.seen.astype(np.float32) @ self._of_cells[cell : cell + 2]
        tokens += self._layers.weights[f"{_NAME}.embed.bias"]
        for block, latents in enumerate(self._seen):
            name = f"{_NAME}.blocks.{block}"
            tokens = self._layers.attend(f"{name}.spread", tokens, latents)
            tokens = self._layers.residual(f"{name}.row_mlp", tokens)
        return known, tokens
