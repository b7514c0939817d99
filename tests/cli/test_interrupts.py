"""Ctrl-C is not lost in the places where Python drops an exception."""

import gc
import signal
import sys
import threading
import time
import weakref

import pytest

from qduet.cli.process import interrupts_raised_again

LONG = 30
"""Seconds that none of these tests sleeps through."""


def press(*_):
    """Ctrl-C."""
    signal.raise_signal(signal.SIGINT)


class Watched:
    """Something that a weak reference can watch."""


def in_the_garbage_collector():
    gc.callbacks.append(press)
    gc.collect()
    gc.callbacks.remove(press)


def in_a_weak_reference():
    watched = Watched()
    reference = weakref.ref(watched, press)
    del watched
    assert reference() is None


@pytest.mark.parametrize("dropped", [in_the_garbage_collector, in_a_weak_reference])
def test_it_is_raised_again(dropped, capsys):
    before, passed = sys.unraisablehook, []

    def work():
        with interrupts_raised_again():
            dropped()
            passed.append("the callback")
            time.sleep(LONG)

    with pytest.raises(KeyboardInterrupt):
        work()
    assert passed == ["the callback"]
    assert capsys.readouterr().err == ""
    assert sys.unraisablehook is before


def test_one_that_comes_while_the_timer_starts_is_sent_again(monkeypatch, capsys):
    class Slow(threading.Timer):
        started = 0

        def start(self):
            Slow.started += 1
            super().start()
            if Slow.started == 1:
                self.cancel()
                press()

    monkeypatch.setattr(threading, "Timer", Slow)

    def work():
        with interrupts_raised_again():
            in_a_weak_reference()
            time.sleep(LONG)

    with pytest.raises(KeyboardInterrupt):
        work()
    assert Slow.started == 2
    assert capsys.readouterr().err == ""


def test_other_errors_are_reported_as_ever(monkeypatch):
    reported = []
    monkeypatch.setattr(sys, "unraisablehook", lambda event: reported.append(event.exc_type))

    def fail(_):
        raise ValueError

    watched = Watched()
    reference = weakref.ref(watched, fail)
    with interrupts_raised_again():
        del watched
    assert reference() is None
    assert reported == [ValueError]


def test_nothing_is_interrupted_after_the_block():
    with interrupts_raised_again():
        in_a_weak_reference()
    time.sleep(0.2)
