"""The paper's evaluation and the model card: benchmarks and studies, declared as objects, and their runner."""

from __future__ import annotations

from ivicl.benchmarks.base import Benchmark, Shown, Study, StudyRuns, TrialFile
from ivicl.benchmarks.dataset import BenchmarkDataset
from ivicl.benchmarks.settings import Number, SettingForm

__all__ = ["Benchmark", "BenchmarkDataset", "Number", "SettingForm", "Shown", "Study", "StudyRuns", "TrialFile"]
