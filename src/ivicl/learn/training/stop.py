"""A wish to stop: SIGTERM and Ctrl-C let the step under way finish, so that the run is saved."""

from __future__ import annotations

import contextlib
import signal
from types import FrameType, TracebackType
from typing import Any


class StopSignals:
    """`with StopSignals() as stop`: a signal makes `stop.asked` true; afterwards signals mean what they did before."""

    def __init__(self) -> None:
        self.asked = False
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> StopSignals:
        with contextlib.suppress(ValueError):  # not in the main thread: leave signals alone
            for number in (signal.SIGTERM, signal.SIGINT):
                self._before[number] = signal.signal(number, self._ask)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _ask(self, number: int, frame: FrameType | None) -> None:
        self.asked = True
