"""Builds the trainer of a config: tokenizer, data, model, optimizer, and the place to continue from."""

from __future__ import annotations

import os
import random
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from engine.backward.norm import GradientNorms
from engine.backward.release import GradientRelease
from engine.backward.tiled_head import tiled_head_of
from engine.checkpoint.original import NoOriginal, Original, find_original
from engine.checkpoint.store import CheckpointStore
from engine.checkpoint.trainer_state import load_progress, restore_optimizer_and_random_state
from engine.config import Config, Loaded, check_schedule, check_updates
from engine.data import PreparedData
from engine.data.feeding.feed import BatchFeed
from engine.data.feeding.maker import BatchMaker
from engine.data.training_order import make_sampler
from engine.errors import UserError
from engine.events import Alert, ModelInfo, Resume, Start
from engine.health import JUDGED, TrainingHealth
from engine.memory.live import MemoryMeter
from engine.model.hub import is_local, local_folder
from engine.model.load import check_positions, check_vocabulary, load_model, pick_device, weights_dtype
from engine.model.tokenizer import load_tokenizer, stand_in_note
from engine.monitor import visible_card_names
from engine.optim.build import build_optimizer
from engine.optim.hyperball import hyperball_matrices
from engine.optim.schedules import warmup_steps
from engine.optim.tensor_optimizer import TensorOptimizer
from engine.session.open import Opened
from engine.session.session import Session
from engine.train.loop import Trainer
from engine.train.prepare_data import prepare_data
from engine.train.prepare_layers import prepare_layers, require_what_layers_need
from engine.train.saver import Saver
from engine.train.stepclock import StepClock
from engine.train.telling.estimate_report import tell_estimate
from engine.train.telling.step_teller import StepTeller
from engine.train.telling.watch_teller import WatchTeller

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase


def assemble(loaded: Loaded, session: Session, opened: Opened, command: str) -> Trainer:
    """The trainer, ready for its first step or put back to where its checkpoint was taken. Raises UserError."""
    config = loaded.config
    device = _device(session)
    require_what_layers_need(config, device)
    folder = _model_folder(config, session)
    tokenizer = load_tokenizer(folder, config.model)
    if note := stand_in_note(folder, config.model):
        session.say(f"note: {note}")
    data = prepare_data(config, session, tokenizer)
    train = config.train
    sampler = make_sampler(config, data, packs=config.data.packing)
    total_steps = train.max_steps or sampler.steps_in(train.epochs)
    _check_with_all_known(config, session, device, total_steps)
    session.phase("loading model")
    _seed(train.seed)
    model = _load_weights(config, folder, device, opened.checkpoint)
    original = _original_files(config, folder, opened.checkpoint, model, session)
    check_vocabulary(model, tokenizer)
    check_positions(model, max([sampler.pack_length or max(sampler.lengths), *map(len, data.eval)]))
    layers = prepare_layers(model, config, data, sampler, session)
    if layers.sampler is not sampler:  # without packs there are more steps
        total_steps = train.max_steps or layers.sampler.steps_in(train.epochs)
    optimizer = _optimizer(model, config)
    session.say(optimizer.describe())
    trained = [(name, parameter) for name, parameter in model.named_parameters() if parameter.requires_grad]
    norms = GradientNorms(trained)
    releases = config.memory.gradient_release
    tiled_head = tiled_head_of(model, optimizer, norms) if config.memory.tiled_head else None
    in_tiles = None if tiled_head is None else tiled_head.weight
    made_whole = [(name, parameter) for name, parameter in trained if parameter is not in_tiles]
    store = CheckpointStore(session.run, train.keep_checkpoints)
    health = TrainingHealth(config, warmup_steps(train, total_steps), total_steps)
    batch_of = BatchMaker(
        _pad_id(tokenizer),
        layers.sampler.pack_length,
        lines=None if layers.compiler is None else train.per_device_batch_size,
        pins=device.type == "cuda",
    )
    trainer = Trainer(
        config=config,
        session=session,
        device=device,
        head=replace(layers.head, is_tiled=tiled_head is not None),
        data=data,
        sampler=layers.sampler,
        optimizer=optimizer,
        saver=Saver(session, store, model, tokenizer, optimizer, original),
        health=health,
        clock=StepClock(device),
        meter=MemoryMeter(model, optimizer, device, releases=releases, in_tiles=in_tiles),
        norms=norms,
        release=GradientRelease(optimizer, made_whole, norms) if releases else None,
        tiled_head=tiled_head,
        total_steps=total_steps,
        batch_of=batch_of,
        feed=BatchFeed(layers.sampler, data.train, batch_of, train.per_device_batch_size, config.data.num_workers),
        teller=StepTeller(config, session, health, norms, total_steps),
        compiler=layers.compiler,
        layer_inputs=layers.layer_inputs,
    )
    session.followers.append(WatchTeller(session, health.watch))
    session.emit(_start_event(loaded, session, model, device, total_steps, command, layers.slow_paths))
    _say_what_is_trained(session, model, device, data, total_steps)
    trainer.teller.estimate = tell_estimate(config, session, device, lambda: trainer.batch_of(trainer.longest_lines()))
    if opened.checkpoint is not None:
        _go_on_from(trainer, opened.checkpoint)
    return trainer


def _device(session: Session) -> torch.device:
    """The device to train on; the monitor watches it alone, and a GPU that torch cannot use is a warning."""
    device = pick_device()
    if device.type == "cuda":
        uuid = str(torch.cuda.get_device_properties(device).uuid)
        session.monitor.narrow_to([uuid], lambda place: torch.cuda.memory_reserved(device))
    elif names := visible_card_names(os.environ):
        build = f"CUDA {torch.version.cuda}" if torch.version.cuda else "the CPU alone"
        meaning = (
            f"Training on the CPU although this machine has {', '.join(names)}: torch {torch.__version__}, built for "
            f"{build}, cannot use it. Install a build of torch for this GPU's driver."
        )
        session.emit(Alert(id="gpu-not-used", state="open", code="GPU_NOT_USED", severity="warning", meaning=meaning))
        session.say(f"warning: {meaning}")
    return device


def _model_folder(config: Config, session: Session) -> Path:
    name = config.model.name_or_path
    if not is_local(name):
        session.phase("downloading")
    return local_folder(
        name,
        config.model.trust_remote_code,
        lambda done, total: session.progress("downloading", done, total, "bytes"),
        config.model.init,
    )


def _seed(seed: int) -> None:
    random.seed(seed)
    torch.manual_seed(seed)


def _load_weights(config: Config, folder: Path, device: torch.device, checkpoint: Path | None) -> PreTrainedModel:
    if checkpoint is None:
        return load_model(folder, config.model, device)
    return load_model(checkpoint, config.model.model_copy(update={"init": "pretrained"}), device)


def _original_files(
    config: Config, folder: Path, checkpoint: Path | None, model: PreTrainedModel, session: Session
) -> Original | None:
    """The files that the weights came from, to be written again at each save; None for weights that came from none."""
    if checkpoint is None and config.model.init == "random":
        return None
    found = find_original(checkpoint or folder, model)
    if not isinstance(found, NoOriginal):
        return found
    if found.sentence:
        session.say(f"warning: {found.sentence}")
    return None


def _check_with_all_known(config: Config, session: Session, device: torch.device, total_steps: int) -> None:
    """Say or refuse what only the number of steps and the type of the weights tell."""
    problem = check_schedule(config.train, total_steps)
    if problem is not None:
        raise UserError(str(problem))
    if config.model.torch_dtype == "auto":  # an explicit type was judged when the config was loaded
        for note in check_updates(config.train, str(weights_dtype(config.model, device)).removeprefix("torch.")):
            session.say(f"note: {note}")


def _optimizer(model: PreTrainedModel, config: Config) -> TensorOptimizer:
    matrices = hyperball_matrices(model) if config.train.hyperball else ()
    if config.train.hyperball and not matrices:
        raise UserError(
            f"train.hyperball: {type(model).__name__} trains no matrix that could be kept on a sphere; "
            "set train.hyperball: false."
        )
    try:
        return build_optimizer(model.named_parameters(), config.train, matrices)
    except ValueError as error:
        raise UserError(str(error)) from error


def _pad_id(tokenizer: PreTrainedTokenizerBase) -> int:
    """Any id will do: padding stands on the right, where no token looks and no loss is."""
    return next((i for i in (tokenizer.pad_token_id, tokenizer.eos_token_id) if isinstance(i, int)), 0)


def _start_event(
    loaded: Loaded,
    session: Session,
    model: PreTrainedModel,
    device: torch.device,
    total_steps: int,
    command: str,
    slow_paths: tuple[str, ...],
) -> Start:
    params, trainable = _weights(model)
    gpus = (torch.cuda.get_device_name(device),) if device.type == "cuda" else ()
    return Start(
        run=session.run.id,
        command=command,
        config=loaded.name,
        model=ModelInfo(name=loaded.config.model.name_or_path, params=params, trainable=trainable),
        device=str(device),
        gpus=gpus,
        total_steps=total_steps,
        judged=JUDGED,
        slow_paths=slow_paths,
    )


def _weights(model: PreTrainedModel) -> tuple[int, int]:
    """All weights and the trained ones; tied ones count once."""
    parameters = list(model.parameters())
    return sum(p.numel() for p in parameters), sum(p.numel() for p in parameters if p.requires_grad)


def _say_what_is_trained(
    session: Session, model: PreTrainedModel, device: torch.device, data: PreparedData, total_steps: int
) -> None:
    params, trainable = _weights(model)
    where = torch.cuda.get_device_name(device) if device.type == "cuda" else "the CPU"
    session.say(
        f"{type(model).__name__}: {trainable:,} of {params:,} weights in {str(model.dtype).removeprefix('torch.')} "
        f"on {where}; {len(data.train):,} chats to train on, {len(data.eval):,} to evaluate on; {total_steps:,} steps"
    )


def _go_on_from(trainer: Trainer, checkpoint: Path) -> None:
    state = load_progress(checkpoint)
    try:
        trainer.load_state(state)
    except ValueError as error:
        raise UserError(f"train.resume_from: {checkpoint}: {error}") from error
    restore_optimizer_and_random_state(checkpoint, trainer.optimizer)
    step = trainer.progress.step
    session = trainer.session
    inside = checkpoint.is_relative_to(session.run.path)
    shown = str(checkpoint.relative_to(session.run.path)) if inside else str(checkpoint)
    if inside:  # that of another run is no place for this one to go on from: its own first save is still to come
        trainer.saver.saved_step = step
    session.where.last_checkpoint = shown
    session.where.step = step
    session.emit(Resume(from_step=step, checkpoint=shown))
    session.say(f"continues after step {step} from {checkpoint}")
