"""`pgs profile`: options to what is printed, and to an exit code."""

from __future__ import annotations

import argparse
import gc
import sys
from dataclasses import replace

from engine.config import Loaded, load_config
from engine.errors import UserError
from engine.exit_codes import FAILED, USAGE_ERROR
from engine.printing.outcome import print_json, told
from engine.printing.paper import paper_for
from engine.profile.cards import look
from engine.profile.document import Measured, Profile
from engine.profile.gpu_choice import Choice, choose
from engine.profile.profiler import Wishes, import_libraries, profile_of
from engine.rundir import resolve_run


def profile_command(options: argparse.Namespace, overrides: list[str]) -> int:
    """Print the profile of a config, or serve. Raises ConfigError and RunNotFoundError.

    0 where it fits, is tight or no GPU is known; 1 where it does not fit, or --measure failed; 2 for a bad config, a
    GPU or a model that is not known, and for options that do not go together.
    """
    problem = _problem_of_options(options, overrides)
    if problem:
        return _refuse(problem)
    if options.serve:
        from engine.profile.server.serve import serve

        return told(serve)
    loaded = _load(options, overrides)
    return told(lambda: _profile(options, loaded))


def _problem_of_options(options: argparse.Namespace, overrides: list[str]) -> str:
    """What does not go together, in one sentence; empty where all does."""
    has_config = options.config is not None or options.run is not None
    if options.serve:
        alone = not (has_config or overrides or options.measure or options.json or options.plain or _names_gpu(options))
        return "" if alone else "--serve takes no other option: what is asked comes in its requests (docs/json.md)"
    if not has_config:
        return "profile needs --config FILE or --run RUN"
    if options.measure and _names_gpu(options):
        return "--measure measures on this machine's first visible GPU; CUDA_VISIBLE_DEVICES chooses it, not --gpu"
    return ""


def _names_gpu(options: argparse.Namespace) -> bool:
    return any(value is not None for value in (options.gpu, options.gpu_memory_gb, options.gpu_index))


def _load(options: argparse.Namespace, overrides: list[str]) -> Loaded:
    """The data may be elsewhere: it makes no difference to memory."""
    path = options.config if options.config is not None else resolve_run(options.run).config_yaml
    return load_config(path, overrides, check_files=False)


def _profile(options: argparse.Namespace, loaded: Loaded) -> int:
    if options.measure:
        _refuse_without_a_gpu()
    try:
        choice = choose(look(), options.gpu, options.gpu_memory_gb, options.gpu_index)
        profile = _found_out(options, loaded, choice)
    except UserError as error:
        return _refuse(str(error))
    if options.measure:
        profile = replace(profile, measured=_measured(loaded, profile))
    _print(options, loaded, profile)
    return 0 if _fits(profile) else FAILED


def _print(options: argparse.Namespace, loaded: Loaded, profile: Profile) -> None:
    from engine.profile.as_json import profile_as_json  # these know of measuring, which brings torch
    from engine.profile.as_text import ProfilePrinter

    if options.json:
        print_json(profile_as_json(profile))
    else:
        ProfilePrinter(paper_for(sys.stdout, options.plain), options.full).print(profile)
        for note in loaded.notes:
            sys.stderr.write(f"note: {note}\n")


def _found_out(options: argparse.Namespace, loaded: Loaded, choice: Choice) -> Profile:
    import_libraries()
    gc.freeze()  # what is there now stays to the end of the command
    from engine.profile.run_length import known_data, run_length

    wishes = Wishes(
        room=choice.room,
        why_no_room=choice.why_none,
        price=options.price,
        is_calibrated=not options.measure,
    )
    return profile_of(loaded, wishes, lambda config: run_length(config, known_data(config)))


def _refuse_without_a_gpu() -> None:
    """Raises UserError; the reason need not wait for an estimate."""
    from engine.profile.gpu_to_measure import gpu_to_measure

    gpu_to_measure()


def _measured(loaded: Loaded, profile: Profile) -> Measured:
    """Raises UserError where there is no GPU to measure on, or the steps end with anything but out of memory."""
    from engine.profile.measure import MeasuringProgress
    from engine.profile.measure_here import measure_here

    def tell(progress: MeasuringProgress) -> None:
        sys.stderr.write(f"measuring: {progress.what}\n")
        sys.stderr.flush()

    found = measure_here(loaded.config, profile.estimate, tell)
    sys.stderr.write(f"{found.kept}\n")
    return Measured(profile.estimate, found.measurement)


def _fits(profile: Profile) -> bool:
    """What was measured counts for more than what was estimated."""
    if profile.measured is not None:
        return profile.measured.measurement.fits
    return profile.verdict.word != "does not fit"


def _refuse(message: str) -> int:
    sys.stderr.write(f"pgs: {message}\n")
    return USAGE_ERROR
