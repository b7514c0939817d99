"""Recordings as files: one JSON document that Python and a web page both read.

The document names the environment, agent, seeds and settings in plain text. It holds the arrays of
`recording.Steps` as one text ``data``: base64 of zlib of the arrays one after the other, in the
order of `layout`. Before compression, an observation is replaced by its difference (exclusive or)
to the one before; floats other than rewards are rounded to 16 significant bits; and floats are
stored by byte planes (all lowest bytes, then all second bytes, …). A thousand steps of Seaquest are
then some 70 KB. ``sha256`` is over everything else in the document. A file may come from anywhere,
so `parse` trusts none of it.
"""

import base64
import math
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from qduet import agents
from qduet.core.errors import InputError
from qduet.core.files import to_json, write_atomically
from qduet.core.reading import CHECKSUM, as_input_error, checksum, parse_json, read_text
from qduet.jobs.recording import MOST_FRAMES, Recording, Steps
from qduet.minatar import ACTION_NAMES, Environment, game_of, make, render

FORMAT = 1
KIND = "qduet-recording"
LONGEST_LABEL = 200


def layout(env: Environment, frames: int) -> dict[str, tuple[np.dtype, tuple[int, ...]]]:
    """Type and shape of each array of `Steps`, in the order of the file; all little-endian."""
    byte, real = np.dtype(np.uint8), np.dtype("<f4")
    each = (frames, env.num_actions)
    return {
        "observations": (byte, (frames + 1, env.packed_size)),
        "action": (byte, (frames,)),
        "random": (byte, (frames,)),
        "executed": (byte, (frames,)),
        "reward": (env.reward_dtype.newbyteorder("<"), (frames,)),
        "v": (real, (frames,)),
        "adv": (real, each),
        "q": (real, each),
        "target": (real, (frames,)),
        "return_to_go": (real, (frames,)),
    }


def rounded(values: np.ndarray) -> np.ndarray:
    """Numbers as a file keeps them: float32 with 16 significant bits, half away from zero."""
    bits = np.ascontiguousarray(values, "<f4").view("<u4")
    near = ((bits + np.uint32(0x80)) & np.uint32(0xFFFFFF00)).view("<f4")
    return np.where(np.isfinite(values), near, values).astype("<f4")


def _encode(steps: Steps, env: Environment) -> str:
    parts = []
    for name, (dtype, shape) in layout(env, len(steps.action)).items():
        array = np.ascontiguousarray(getattr(steps, name)).astype(dtype)
        assert array.shape == shape
        if name == "observations":
            array[1:] ^= array[:-1].copy()
        if dtype.kind == "f":
            kept = array if name == "reward" else rounded(array)
            array = kept.reshape(-1, 1).view(np.uint8).T
        parts.append(array.tobytes())
    return base64.b64encode(zlib.compress(b"".join(parts), 9)).decode("ascii")


def _decode(text: str, env: Environment, frames: int) -> Steps:
    plan = layout(env, frames)
    sizes = [dtype.itemsize * math.prod(shape) for dtype, shape in plan.values()]
    inflate = zlib.decompressobj()
    raw = inflate.decompress(base64.b64decode(text, validate=True), sum(sizes) + 1)
    if len(raw) != sum(sizes) or not inflate.eof or inflate.unused_data:
        raise ValueError("the data have another size than the document says")
    arrays, offset = {}, 0
    for (name, (dtype, shape)), size in zip(plan.items(), sizes, strict=True):
        part = np.frombuffer(raw, np.uint8, size, offset)
        if dtype.kind == "f":
            part = np.ascontiguousarray(part.reshape(4, -1).T).reshape(-1)
        arrays[name] = part.view(dtype).reshape(shape)
        offset += size
    arrays["observations"] = np.bitwise_xor.accumulate(arrays["observations"], axis=0)
    arrays["random"] = arrays["random"].astype(bool)
    return Steps(**arrays)


def document(recording: Recording) -> dict[str, Any]:
    """The recording as a JSON document, with what a page needs to show it."""
    env = make(recording.env)
    _check_label(recording.label)
    written = {
        "kind": KIND,
        "format": FORMAT,
        **_of_environment(env),
        "label": recording.label,
        "agent": recording.agent.fields(),
        "seed": recording.seed,
        "step": recording.step,
        "episode_seed": recording.episode_seed,
        "epsilon": float(recording.epsilon),
        "ended": recording.ended,
        "frames": len(recording.episode.action),
        "score": recording.score,
        "data": _encode(recording.episode, env),
    }
    return {**written, CHECKSUM: checksum(written)}


def _of_environment(env: Environment) -> dict[str, Any]:
    """The parts of the document that follow from the environment alone."""
    return {
        "env": env.name,
        "game": game_of(env.name),
        "channels": list(env.channels),
        "colours": [
            "#{:02x}{:02x}{:02x}".format(*colour)
            for colour in render.colours(env.num_channels, palette="bright").tolist()
        ],
        "actions": [ACTION_NAMES[action] for action in env.actions],
        "all_actions": list(ACTION_NAMES),
        **({} if env.small_rewards else {"rewards": "float32"}),
    }


def write(path: Path, recording: Recording) -> None:
    """Writes the recording; the same recording gives the same bytes."""
    write_atomically(path, (to_json(document(recording)) + "\n").encode())


def read(path: Path) -> Recording:
    """The recording in a file, or `InputError`."""
    return read_document(path)[1]


def read_document(path: Path) -> tuple[dict[str, Any], Recording]:
    """The JSON document in a file, and the recording in it, or `InputError`."""
    written = parse_json(read_text(path), path)
    try:
        return written, parse(written)
    except InputError as error:
        raise InputError(f"{path} cannot be used: {error}") from None


def parse(written: Any) -> Recording:
    """The recording in a JSON document, or `InputError` that says what is wrong with it."""
    if not isinstance(written, dict) or written.get("kind") != KIND:
        raise InputError(f"it is not a recording of qduet watch (its kind is not '{KIND}')")
    if written.get("format") != FORMAT:
        raise InputError(f"its format is {written.get('format')!r}, not {FORMAT}")
    if written.get(CHECKSUM) != checksum(written):
        raise InputError("its checksum differs; it was damaged or edited")
    with as_input_error("it"):
        return _parse(written)


def _parse(written: dict[str, Any]) -> Recording:
    env = make(written["env"])
    for name, value in _of_environment(env).items():
        if written[name] != value:
            raise InputError(f"{name} are not those of {env.name}")
    frames = _whole(written, "frames", 1, MOST_FRAMES)
    label, ended, epsilon = written["label"], written["ended"], written["epsilon"]
    _check_label(label)
    if not isinstance(ended, bool):
        raise InputError("ended is neither true nor false")
    if type(epsilon) is not float or not 0 <= epsilon <= 1:
        raise InputError("epsilon is not a decimal number from 0.0 to 1.0")
    recording = Recording(
        env=env.name,
        label=label,
        agent=agents.from_fields(written["agent"]),
        seed=_whole(written, "seed", 0, 2**63),
        step=_whole(written, "step", 0, 2**63),
        episode_seed=_whole(written, "episode_seed", 0, 2**128),
        epsilon=epsilon,
        ended=ended,
        episode=_decode(written["data"], env, frames),
    )
    _check(recording.episode, env)
    if written["score"] != recording.score:
        raise InputError("its score is not the sum of its rewards")
    return recording


def _check_label(label: Any) -> None:
    if not (isinstance(label, str) and label.isprintable() and 0 < len(label) <= LONGEST_LABEL):
        raise InputError(f"the agent's label is not a name of at most {LONGEST_LABEL} characters")


def _whole(written: dict[str, Any], name: str, low: int, high: int) -> int:
    value = written[name]
    if type(value) is not int or not low <= value <= high:
        raise InputError(f"{name} is not a whole number from {low} to {high}")
    return value


def _check(steps: Steps, env: Environment) -> None:
    """Raises if an array is out of range."""
    if steps.action.max() >= env.num_actions or steps.executed.max() >= len(ACTION_NAMES):
        raise InputError("an action is not one of the game's")
    if not np.isfinite(steps.reward).all():
        raise InputError("a reward is not a finite number")
