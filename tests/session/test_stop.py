import os
import signal

import pytest

from engine.session.stop import StopNow, StopSwitch


def test_before_the_first_step_a_signal_ends_the_run_at_once() -> None:
    with StopSwitch() as stop, pytest.raises(StopNow), stop.ending_at_once():
        os.kill(os.getpid(), signal.SIGTERM)
    assert stop.reason == "SIGTERM received"


def test_a_signal_that_came_too_early_ends_the_run_as_soon_as_it_may() -> None:
    with StopSwitch() as stop:
        os.kill(os.getpid(), signal.SIGTERM)
        with pytest.raises(StopNow), stop.ending_at_once():
            raise AssertionError("loading began in spite of the signal")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_while_training_a_signal_waits_for_the_step_and_a_second_sigint_does_not(number: signal.Signals) -> None:
    with StopSwitch() as stop, stop.finishing_steps():
        os.kill(os.getpid(), number)
        assert stop.reason == f"{number.name} received"
        os.kill(os.getpid(), signal.SIGTERM)
        if number != signal.SIGINT:
            os.kill(os.getpid(), signal.SIGINT)  # the first of its kind: it too may finish the step
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)


def test_the_first_interrupt_after_a_command_to_stop_does_not_cut_the_save_short() -> None:
    with StopSwitch() as stop, stop.finishing_steps():
        stop.request("asked to stop by anna")
        os.kill(os.getpid(), signal.SIGINT)
        assert stop.reason == "asked to stop by anna"


def test_while_the_end_is_being_written_no_signal_cuts_it_short() -> None:
    with StopSwitch() as stop:
        with stop.finishing_steps():
            pass
        for number in (signal.SIGINT, signal.SIGINT, signal.SIGTERM):
            os.kill(os.getpid(), number)


def test_an_ignored_hangup_stays_ignored_and_handlers_come_back() -> None:
    previous = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with StopSwitch() as stop:
            os.kill(os.getpid(), signal.SIGHUP)
            assert stop.reason is None
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGHUP, previous)
