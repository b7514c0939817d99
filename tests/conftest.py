"""Strictness for every test: no silent rank promotion, no silent dtype promotion."""

import signal

import jax
import pytest

jax.config.update("jax_numpy_rank_promotion", "raise")
jax.config.update("jax_platforms", "cpu")


# Started in the background of a shell, we would hand "ignore Ctrl-C" down to the commands we test.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def x64():
    """Double precision for the duration of one test."""
    with jax.enable_x64(True):
        yield


@pytest.fixture
def refused(capsys):
    """Checks that the command refuses `arguments`: exit code 2, one line that holds `told`."""
    from qduet.cli import main

    def check(arguments, told):
        try:
            code = main(arguments)
        except SystemExit as stop:
            code = stop.code
        out = capsys.readouterr()
        assert code == 2
        assert told in out.err
        assert len(out.err.splitlines()) == 1
        assert out.out == ""

    return check
