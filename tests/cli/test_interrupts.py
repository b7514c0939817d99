"""Ctrl-C is not lost, and disturbs nothing else."""

import contextlib
import gc
import signal
import time
import weakref

import pytest

from qduet.cli.interrupts import PERIOD, insistent

LONG = 30
"""Seconds that none of these tests sleeps through."""


def press():
    """Ctrl-C."""
    signal.raise_signal(signal.SIGINT)


@contextlib.contextmanager
def left_as_it_was():
    numbers = (signal.SIGINT, signal.SIGALRM)
    before = [signal.getsignal(number) for number in numbers]
    yield
    assert [signal.getsignal(number) for number in numbers] == before
    assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)


def interrupted(work):
    with left_as_it_was(), pytest.raises(KeyboardInterrupt), insistent():
        work()


def test_it_is_raised_again_until_it_is_not_dropped():
    dropped = []

    def drop(work):
        try:
            work()
        except KeyboardInterrupt:
            dropped.append(True)

    def work():
        drop(press)
        drop(lambda: time.sleep(LONG))
        drop(lambda: time.sleep(LONG))
        time.sleep(LONG)

    interrupted(work)
    assert dropped == [True, True, True]


def test_it_is_not_lost_in_a_callback_of_the_garbage_collector(capsys):
    passed = []

    def callback(phase, info):
        if phase == "stop":
            passed.append("the interrupt")
            press()

    def work():
        gc.callbacks.append(callback)
        gc.collect()
        gc.callbacks.remove(callback)
        passed.append("the collection")
        time.sleep(LONG)

    interrupted(work)
    assert passed == ["the interrupt", "the collection"]
    assert capsys.readouterr().err == ""


def test_it_is_not_lost_in_a_callback_of_a_weak_reference(capsys):
    """A dictionary with weak keys drops an entry whose key, when compared, presses Ctrl-C."""
    passed = []

    class Pressing(weakref.ref):
        def __eq__(self, other):
            return self is other

        def __hash__(self):
            passed.append("the interrupt")
            press()
            return 7

    class Key:
        pass

    def work():
        table = weakref.WeakKeyDictionary()
        key = Key()
        reference = Pressing(key, table._remove)
        del key  # which calls remove(reference)
        passed.append("the removal")
        assert reference() is None
        time.sleep(LONG)

    interrupted(work)
    assert passed == ["the interrupt", "the removal"]
    assert capsys.readouterr().err == ""


def test_cleaning_up_is_not_disturbed():
    cleaned = []

    def work():
        try:
            press()
        finally:
            try:
                raise ValueError
            except ValueError:
                time.sleep(3 * PERIOD)
            time.sleep(3 * PERIOD)
            cleaned.append(True)

    interrupted(work)
    assert cleaned == [True]


def test_cleaning_up_is_left_by_another():
    cleaned = []

    def work():
        try:
            press()
        finally:
            press()
            cleaned.append(True)

    interrupted(work)
    assert cleaned == []


def test_what_comes_after_the_block_is_not_interrupted():
    with left_as_it_was(), contextlib.suppress(KeyboardInterrupt), insistent():
        press()
    time.sleep(2 * PERIOD)
    with left_as_it_was(), insistent():
        with contextlib.suppress(KeyboardInterrupt), insistent():
            press()
        time.sleep(2 * PERIOD)


def test_a_process_that_ignores_it_goes_on_ignoring_it():
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with left_as_it_was(), insistent():
            press()
            time.sleep(2 * PERIOD)
    finally:
        signal.signal(signal.SIGINT, before)
