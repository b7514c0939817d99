"""Commands where the machine is unkind.

Disks are full or read-only, file operations fail, directories vanish, odd things stand in the place
of files, files are larger than they look, streams are closed. Where the machine is kind again
afterwards, the command must end as if nothing had been.
"""

import contextlib
import errno
import json
import os
import random
import shutil
import socket
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from qduet.jobs import resuming
from torture import damage, kills, readings
from torture.child import Plan
from torture.laboratory import (
    Fault,
    Laboratory,
    differing,
    files_of,
    judge,
    left_behind,
    run,
)

ERRORS = (errno.ENOSPC, errno.EIO, errno.EROFS, errno.EACCES, errno.EDQUOT)
CODES = (0, 1, 2)
"""1 is an answer of `qduet certify`."""


def case(lab: Laboratory, number: int, generator: random.Random) -> tuple[Counter, list[Fault]]:
    """One scenario; they take turns."""
    name, scenario = [*SCENARIOS.items()][number % len(SCENARIOS)]
    with lab.only_one("undisturbed"):
        kills.undisturbed(lab)
    return Counter({name: 1}), scenario(lab, generator)


@contextlib.contextmanager
def _small_disk(room: Path, kilobytes: int) -> Iterator[Path | None]:
    """A file system of its own at ``room/disk``; None where we may not mount one."""
    disk = room / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "torture", str(disk)]
    try:
        mounted = subprocess.run(mount, capture_output=True).returncode == 0
    except OSError:
        mounted = False
    try:
        yield disk if mounted else None
    finally:
        if mounted:
            subprocess.run(["umount", "--lazy", str(disk)], check=True)


def _remount(disk: Path, options: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{options}", str(disk)], check=True)


def full_disk(lab: Laboratory, generator: random.Random) -> list[Fault]:
    """A command on a disk that fills up; then there is room, and it is run again."""
    name = generator.choice([*kills.COMMANDS])
    room = kills.room(lab)
    need = 300 if name == "report" else 2_000 if name == "train" else 150
    with _small_disk(room, generator.randrange(4, need, 4)) as disk:
        if disk is None:
            return failing_operation(lab, generator)
        (room / "made").symlink_to(disk)
        faults = judge(run(kills.COMMANDS[name], room), codes=_codes(name))
        faults += [Fault("left behind", f"{name}: {path}") for path in left_behind(disk)]
        _remount(disk, "size=100m")
        return faults + _in_the_end(lab, room, name)


def failing_operation(lab: Laboratory, generator: random.Random) -> list[Fault]:
    """One file operation of a command fails; then the command is run again."""
    name = generator.choice([*kills.COMMANDS])
    room = kills.room(lab)
    at = generator.randint(1, kills.undisturbed(lab)[name]["operations"])
    plan = Plan(at=at, error=generator.choice(ERRORS))
    faults = judge(run(kills.COMMANDS[name], room, plan), codes=_codes(name))
    faults += _in_the_end(lab, room, name)
    return [Fault(fault.kind, f"{name}, {plan}: {fault.detail}") for fault in faults]


def _codes(name: str) -> tuple[int, ...]:
    """How a command that meets a fault may end; of a sweep, jobs may fail."""
    return (0, 1, 2) if name == "sweep" else (0, 2)


def _in_the_end(lab: Laboratory, room: Path, name: str) -> list[Fault]:
    faults = judge(run(kills.COMMANDS[name], room), codes=(0,))
    wanted = kills.undisturbed(lab)[name]["results"]
    if different := differing(kills.results(room / "made"), wanted):
        faults.append(Fault("wrong number", f"{name}: {different}"))
    return faults + [Fault("left behind", f"{name}: {path}") for path in left_behind(room)]


def read_only(lab: Laboratory, generator: random.Random) -> list[Fault]:
    """Results on a disk that cannot be written."""
    room = lab.room()
    source = generator.choice(["job", "stopped"])
    with _small_disk(room, 50_000) as disk:
        if disk is None:
            return []
        shutil.copytree(lab.specimens / source, disk / source)
        before = files_of(disk)
        _remount(disk, "ro")
        arguments = generator.choice(
            [
                [*readings.TRAIN, f"disk/{source}"],
                [*readings.OTHER, f"disk/{source}"],
                ["report", "disk", "-o", "disk/report.html"],
                ["report", "disk", "-o", "report.html"],
                ["reproduce", "figure5", "--out", "disk/out"],
                ["watch", f"disk/{source}", "--out", "disk/watch"],
            ]
        )
        faults = judge(run(arguments, room))
        if files_of(disk) != before:
            faults.append(Fault("lost bytes", "on a read-only disk"))
    return [Fault(fault.kind, f"{' '.join(arguments)}: {fault.detail}") for fault in faults]


def vanishing(lab: Laboratory, generator: random.Random) -> list[Fault]:
    """The directory is removed or renamed while a command works in it."""
    name = generator.choice([*kills.COMMANDS])
    room = kills.room(lab)
    after = generator.uniform(0, kills.undisturbed(lab)[name]["seconds"])
    target = room / generator.choice(["made", "job"] if name == "report" else ["made"])
    renamed = generator.random() < 0.5

    def vanish() -> None:
        time.sleep(after)
        with contextlib.suppress(OSError):
            target.rename(room / "gone") if renamed else shutil.rmtree(target)

    thread = threading.Thread(target=vanish)
    thread.start()
    faults = judge(run(kills.COMMANDS[name], room), codes=_codes(name))
    thread.join()
    return [Fault(fault.kind, f"{name}, {target.name}: {fault.detail}") for fault in faults]


# --- Odd things in the place of files ------------------------------------------------------------

ODD: dict[str, Callable[[Path], object]] = {
    "a FIFO": os.mkfifo,
    "a directory": os.mkdir,
    "a link to /dev/zero": lambda path: path.symlink_to("/dev/zero"),
    "a link to itself": lambda path: path.symlink_to(path.name),
    "a link to nothing": lambda path: path.symlink_to("nothing"),
    "a link to another file": lambda path: path.symlink_to(path.parents[1] / "precious"),
    "a socket": lambda path: _socket(path),
    "an empty file": lambda path: path.touch(),
}


def _socket(path: Path) -> None:
    here = Path("/tmp") / f"torture-{os.getpid()}-{threading.get_ident()}"  # a short name
    with socket.socket(socket.AF_UNIX) as opened:
        opened.bind(str(here))
    shutil.move(here, path)


def odd_file(lab: Laboratory, generator: random.Random) -> list[Fault]:
    """A FIFO, a link, a directory in the place of a file that a command reads or locks."""
    kinds = [*readings.KINDS.values()]
    kind = generator.choice(kinds)
    found = [path for pattern in kind.specimens for path in sorted(lab.specimens.glob(pattern))]
    if not found:
        return []
    path = generator.choice(found).relative_to(lab.specimens)
    arguments = generator.choice(kind.commands)
    if generator.random() < 0.1:
        path, arguments = (
            Path("stopped") / resuming.LOCK,
            generator.choice([readings.SAME, readings.TAKEN]),
        )
    room = readings.room_for(lab, path, arguments)
    precious = (room / path).parents[1] / "precious"
    precious.write_bytes(b"not to be changed")
    what = generator.choice([*ODD])
    (room / path).unlink(missing_ok=True)
    ODD[what](room / path)
    arguments = [word.format(path.parts[0]) for word in arguments]
    faults = judge(run(arguments, room), codes=CODES)
    if precious.read_bytes() != b"not to be changed":
        faults.append(Fault("lost bytes", "the target of a link"))
    where = f"{path} is {what}, qduet {' '.join(arguments)}"
    return [Fault(fault.kind, f"{where}: {fault.detail}") for fault in faults]


def _bombs(lab: Laboratory) -> dict[str, tuple[str, list[str], Callable[[bytes], bytes]]]:
    """By name: the file, the command that reads it, and how the file grows."""

    def expanding(content: bytes) -> bytes:
        kept = lab.root / "bomb.npz"
        with lab.only_one("bomb"):
            if not kept.exists():
                kept.write_bytes(damage.zip_bomb(3.0))
        return kept.read_bytes()

    def with_value(name: str, value: object) -> Callable[[bytes], bytes]:
        return lambda content: json.dumps({**json.loads(content), name: value}).encode()

    curves = "out/figure5/actions-2/hard_rdq.npz"
    config = f"{readings.FULL}/config.json"
    deep = lambda content: b"[" * 960 + b"]" * 960
    many = {"steps": 900_000_000, "evaluate_every": 1}
    each_step = lambda content: json.dumps({**json.loads(content), **many}).encode()
    long = lambda content: content + content.splitlines()[-1] * 2_000_000
    return {
        "an npz that expands to 3 GB": (curves, readings.REPORT, expanding),
        "an npz that claims 400 GB": (curves, readings.REPORT, lambda x: damage.large_header()),
        "900 million evaluations": (config, readings.CERTIFY, each_step),
        "900 million evaluations, compared": (config, readings.COMPARE, each_step),
        "a million seeds": (config, readings.REPORT, with_value("seeds", [*range(10**6)])),
        "a deep document": ("out/figure5/summary.json", readings.CERTIFY, deep),
        "a deep config": (config, readings.REPORT, deep),
        "a row of 200 MB": (f"{readings.FULL}/evaluations.csv", readings.REPORT, long),
        "tensors that claim 2⁶³ bytes": (
            "job/weights/rdq-0.safetensors",
            readings.WATCH,
            lambda content: b"\xff" * 7 + b"\x7f" + content[8:],
        ),
    }


def bomb(lab: Laboratory, generator: random.Random) -> list[Fault]:
    """A file that is larger than it looks, with checksums made anew."""
    name, (file, arguments, grow) = generator.choice([*_bombs(lab).items()])
    path = Path(file)
    room = readings.room_for(lab, path, arguments)
    (room / path).write_bytes(grow((room / path).read_bytes()))
    if (room / path).parent.joinpath("SHA256SUMS").exists():
        damage.sums((room / path).parent)
    arguments = [word.format(path.parts[0]) for word in arguments]
    faults = judge(run(arguments, room), codes=CODES)
    return [Fault(fault.kind, f"{name}, {arguments[0]}: {fault.detail}") for fault in faults]


def closed_streams(lab: Laboratory, generator: random.Random) -> list[Fault]:
    """A command without standard input, output or error."""
    name = generator.choice([*kills.COMMANDS])
    room = kills.room(lab)
    closed = generator.choice([(0,), (1,), (2,), (1, 2), (0, 1, 2)])
    faults = judge(run(kills.COMMANDS[name], room, Plan(closed=closed)), codes=(0,))
    faults += _in_the_end(lab, room, name)
    return [Fault(fault.kind, f"{name} without {closed}: {fault.detail}") for fault in faults]


SCENARIOS: dict[str, Callable[[Laboratory, random.Random], list[Fault]]] = {
    "full disks": full_disk,
    "file operations that fail": failing_operation,
    "FIFOs, links, directories and sockets in the place of files": odd_file,
    "files larger than they look": bomb,
    "read-only disks": read_only,
    "vanishing directories": vanishing,
    "closed streams": closed_streams,
}
