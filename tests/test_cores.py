"""Work spread over cores: in order, bounded, and on any system."""

from __future__ import annotations

import os
import sys
import time

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from ivicl._shared.cores import in_order, threads
from ivicl.benchmarks import speed


def test_answers_come_in_order_and_items_are_not_taken_far_ahead():
    taken = 0

    def items():
        nonlocal taken
        for item in range(40):
            taken += 1
            yield item

    def work(item: int) -> int:
        time.sleep(0.002 * (item % 3))  # later items overtake earlier ones
        return item * item

    found = []
    for answer in in_order(work, items(), workers=3):
        found.append(answer)
        assert taken <= len(found) + 2 * 3 - 1, "a generator of large arrays would be in memory as a whole"
    assert found == [item * item for item in range(40)]
    assert list(in_order(work, iter([]), workers=3)) == []


def test_a_caller_who_has_seen_enough_and_an_error_both_stop_the_work():
    done: list[int] = []

    def work(item: int) -> int:
        if item == 7:
            raise ZeroDivisionError
        done.append(item)
        return item

    answers = in_order(work, range(1_000_000), workers=2)
    assert next(answers) == 0
    answers.close()
    assert len(done) <= 4
    with pytest.raises(ZeroDivisionError):
        list(in_order(work, range(1_000_000), workers=2))
    assert len(done) < 100


def cores_for_a_product() -> list[int]:
    return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]


def test_threads_that_share_the_cores_compute_each_product_on_one():
    """Whoever finishes first does not give the library its threads back while others are at work."""
    list(in_order(abs, range(3), workers=2))
    import scipy.linalg  # noqa: F401  (a library that comes later, with threads of its own)

    with threadpool_limits(limits=3, user_api="blas"):  # as on a machine with three cores
        before = cores_for_a_product()
        first, second = (in_order(lambda _: cores_for_a_product(), range(9), workers=2) for _ in range(2))
        assert set(next(first)) == set(next(second)) == {1}
        first.close()
        assert {cores for found in second for cores in found} == {1}
        assert cores_for_a_product() == before == [3] * len(before)


def test_the_model_takes_few_passes_ahead(monkeypatch):
    """The graph is not run here: what counts is that the method hands its passes to `in_order` as they come."""
    from ivicl.methods.pretrained import runtime

    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    monkeypatch.setattr(runtime, "_run", lambda session, graph, *arrays: arrays[0])
    monkeypatch.setattr(runtime.Model, "_one_thread_session", None)
    model = object.__new__(runtime.Model)
    model.graph = None
    taken: list[int] = []

    def passes():
        for i in range(50):
            taken.append(i)
            yield (i,)

    for count, answer in enumerate(model.predict_side_by_side(passes()), start=1):
        assert answer == count - 1
        assert len(taken) <= count + 3


def test_threads_follow_the_environment_and_need_no_linux(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert threads() == 3
    monkeypatch.setenv("OMP_NUM_THREADS", "")
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "process_cpu_count", lambda: 5, raising=False)
    assert threads() == 5
    monkeypatch.delattr(os, "process_cpu_count")
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert threads() == 1


def test_peak_memory_is_told_where_it_is_known(monkeypatch):
    gigabytes = float(speed._peak_memory().removesuffix(" GB"))
    assert 0.01 < gigabytes < 100
    monkeypatch.setitem(sys.modules, "resource", None)
    assert speed._peak_memory() == "not known here"
