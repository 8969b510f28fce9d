"""Work beside other work keeps its order, its bounds and its errors."""

from __future__ import annotations

import threading
import time

import pytest

from knowtrail.ingest.background import Background, ahead


def test_calls_run_in_order_and_results_are_kept():
    """Results come in the order of submission."""
    with Background() as worker:
        for number in range(10):
            worker.submit(lambda n: n * n, number)
        worker.wait()

        assert worker.results == [n * n for n in range(10)]


def test_error_of_a_call_is_raised_and_later_calls_do_not_run():
    """The error comes out of `wait`; what waited behind it is dropped."""
    ran = []
    begun = threading.Event()

    def fail():
        msg = "broken"
        raise ValueError(msg)

    def work():
        with Background(waiting=3) as worker:
            worker.submit(begun.wait)
            worker.submit(fail)
            worker.submit(ran.append, 1)
            begun.set()
            worker.wait()

    with pytest.raises(ValueError, match="broken"):
        work()
    assert ran == []


def test_no_call_runs_after_a_failure_that_was_taken():
    """What is submitted after an error that a caller swallowed fails as it did."""
    ran = []

    def fail():
        raise ValueError("broken")

    with Background() as worker:
        worker.submit(fail)
        with pytest.raises(ValueError, match="broken"):
            worker.wait()
        worker.submit(ran.append, 1)
        with pytest.raises(ValueError, match="broken"):
            worker.wait()

    assert ran == []


def test_ahead_yields_everything_in_order():
    """All items come, although a thread makes them."""
    assert list(ahead(iter(range(100)), size=3)) == list(range(100))


def test_ahead_raises_an_error_after_the_items_before_it():
    """What was made before the error is not lost."""

    def items():
        yield 1
        yield 2
        msg = "broken"
        raise ValueError(msg)

    found = []
    with pytest.raises(ValueError, match="broken"):
        found.extend(iter_into(found, ahead(items())))
    assert found == [1, 2]


def iter_into(found, items):
    """Append items one by one, so that they are there when an error comes."""
    for item in items:
        found.append(item)
    return []


def test_ahead_works_at_most_a_few_items_in_advance():
    """Memory is bounded: the thread waits for the consumer."""
    made = []

    def items():
        for number in range(50):
            made.append(number)
            yield number

    stream = ahead(items(), size=2)
    next(stream)
    stream.close()

    assert len(made) <= 6


@pytest.mark.thorough
def test_ahead_waits_for_work_under_way_however_long_it_takes():
    """A consumer that leaves leaves nobody behind who still writes."""
    ended = []

    def items():
        yield 1
        time.sleep(5.5)
        ended.append(True)
        yield 2

    stream = ahead(items())
    next(stream)
    stream.close()

    assert ended
