"""What checkpoints a folder has, and what is in them."""

from __future__ import annotations

import os

import numpy as np

from .. import _core
from ..errors import InvalidArgumentError


class CheckpointState:
    """The checkpoints of a folder: model_checkpoint_path is the latest,
    all_model_checkpoint_paths are those that are kept, oldest first."""

    def __init__(
        self,
        model_checkpoint_path: str,
        all_model_checkpoint_paths: list[str] | None = None,
        all_model_checkpoint_timestamps: list[float] | None = None,
        last_preserved_timestamp: float = 0.0,
    ):
        self.model_checkpoint_path = model_checkpoint_path
        self.all_model_checkpoint_paths = list(all_model_checkpoint_paths or ())
        self.all_model_checkpoint_timestamps = list(
            all_model_checkpoint_timestamps or ()
        )
        self.last_preserved_timestamp = last_preserved_timestamp

    def __repr__(self):
        return f"<rondo.train.CheckpointState {self.model_checkpoint_path!r}>"


def get_checkpoint_state(
    checkpoint_dir: str | os.PathLike, latest_filename: str | None = None
) -> CheckpointState | None:
    """What the folder's file "checkpoint" says; None when there is none."""
    got = _core.checkpoint_state(
        os.fspath(checkpoint_dir), latest_filename or "checkpoint"
    )
    return None if got is None else CheckpointState(*got)


def update_checkpoint_state(
    save_dir: str | os.PathLike,
    model_checkpoint_path: str,
    all_model_checkpoint_paths: list[str] | None = None,
    latest_filename: str | None = None,
    all_model_checkpoint_timestamps: list[float] | None = None,
    last_preserved_timestamp: float | None = None,
) -> None:
    """Writes the folder's file "checkpoint"."""
    paths = list(all_model_checkpoint_paths or ())
    if model_checkpoint_path not in paths:
        paths.append(model_checkpoint_path)
    _core.update_checkpoint_state(
        os.fspath(save_dir),
        model_checkpoint_path,
        paths,
        list(all_model_checkpoint_timestamps or ()),
        last_preserved_timestamp or 0.0,
        latest_filename or "checkpoint",
    )


def checkpoint_exists(checkpoint_prefix: str | os.PathLike) -> bool:
    """Whether there is a checkpoint of this name."""
    return os.path.exists(_core.checkpoint_file(os.fspath(checkpoint_prefix)))


def latest_checkpoint(
    checkpoint_dir: str | os.PathLike, latest_filename: str | None = None
) -> str | None:
    """The name of the folder's latest checkpoint; None when there is none."""
    state = get_checkpoint_state(checkpoint_dir, latest_filename)
    if state is None or not checkpoint_exists(state.model_checkpoint_path):
        return None
    return state.model_checkpoint_path


class CheckpointReader:
    """The tensors of a checkpoint, or of any safetensors file."""

    def __init__(self, ckpt_dir_or_file: str | os.PathLike):
        path = os.fspath(ckpt_dir_or_file)
        if os.path.isdir(path):
            latest = latest_checkpoint(path)
            if latest is None:
                raise InvalidArgumentError(f"there is no checkpoint in {path}")
            path = latest
        self._file = _core.checkpoint_file(path)
        self._tensors = {
            name: (dtype, shape) for name, dtype, shape in _core.tensors_in(self._file)
        }

    def has_tensor(self, name: str) -> bool:
        return name in self._tensors

    def get_variable_to_shape_map(self) -> dict[str, list[int]]:
        return {name: list(shape) for name, (_, shape) in self._tensors.items()}

    def get_variable_to_dtype_map(self) -> dict:
        return {name: dtype for name, (dtype, _) in self._tensors.items()}

    def get_tensor(self, name: str) -> np.ndarray:
        return _core.tensor_in(self._file, name)


def load_checkpoint(ckpt_dir_or_file: str | os.PathLike) -> CheckpointReader:
    """A reader of a checkpoint, or of a folder's latest one."""
    return CheckpointReader(ckpt_dir_or_file)


def list_variables(ckpt_dir_or_file: str | os.PathLike) -> list[tuple[str, list[int]]]:
    """[(name, shape)] of a checkpoint, or of a folder's latest one."""
    shapes = load_checkpoint(ckpt_dir_or_file).get_variable_to_shape_map()
    return sorted(shapes.items())


def load_variable(ckpt_dir_or_file: str | os.PathLike, name: str) -> np.ndarray:
    """One variable's value in a checkpoint, or in a folder's latest one."""
    name = name.removesuffix(":0")
    return load_checkpoint(ckpt_dir_or_file).get_tensor(name)
