"""Training jobs: run, stopped and continued; what they leave behind: weights and recordings.

    from qduet.deep import make_agent
    from qduet.jobs import Job, load_weights, record, train

    job = Job("MinAtar/Breakout-v1", {"rdq": make_agent("rdq")}, seeds=range(3), steps=1_000_000)
    result = train(job, "out/breakout")              # again: continues, or reads what is finished
    result.rows[-1]["return_mean"]

    trained = load_weights("out/breakout/weights/rdq-0.safetensors")
    recording = record(trained, frames=1_000)        # one episode, with V, A and Q of each step
    load_pretrained("rdq", "Breakout")               # weights that come with qduet

The modules:

    job, trainer               what is trained, and the loop that does it
    program, devices           the compiled programs, and what they run on
    checkpoint, resuming       the state on disk, and what a directory already holds
    stopping                   Ctrl-C, SIGTERM and deadlines
    weights                    the trained networks as files
    recording, recording_file  an episode step by step, and as a file
    pretrained                 the agents that come with qduet
"""

from qduet.jobs.job import Job
from qduet.jobs.pretrained import load as load_pretrained
from qduet.jobs.recording import Recording, record
from qduet.jobs.recording_file import read as read_recording
from qduet.jobs.recording_file import write as write_recording
from qduet.jobs.trainer import Progress, TrainingResult, train
from qduet.jobs.weights import Weights
from qduet.jobs.weights import load as load_weights

__all__ = [
    "Job",
    "Progress",
    "Recording",
    "TrainingResult",
    "Weights",
    "load_pretrained",
    "load_weights",
    "read_recording",
    "record",
    "train",
    "write_recording",
]
