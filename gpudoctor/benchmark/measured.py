"""Everything that was measured of one mode, before anything is made of it."""

from __future__ import annotations

from dataclasses import dataclass, field

from gpudoctor.benchmark.options import Mode
from gpudoctor.benchmark.plan import TrainingSettings
from gpudoctor.benchmark.process import Worker, WorkerError
from gpudoctor.benchmark.protocol import Answer, ComputeOnly, Fitted, Floor, Hello, InputOnly, Validated, Windowed
from gpudoctor.benchmark.results import GpuUse, Tried


@dataclass
class Measured:
    """One mode while it is measured. problem: what went wrong without spoiling what was measured before."""

    mode: Mode
    settings: TrainingSettings
    tried: list[Tried] = field(default_factory=list)
    hello: Hello | None = None
    first: Fitted | None = None
    rounds: list[Fitted] = field(default_factory=list)
    input_only: InputOnly | None = None
    compute_only: ComputeOnly | None = None
    window: Windowed | None = None
    floor: Floor | None = None
    validated: Validated | None = None
    finite: bool = True
    worker: Worker | None = None
    updates: int = 0
    """Of the model that this worker holds."""
    gpu: GpuUse | None = None
    memory_peak_bytes: int = 0
    gpu_memory_peak_bytes: int | None = None
    error: WorkerError | None = None

    def saw(self, answer: Answer) -> None:
        """Keep the peaks that an answer tells."""
        self.memory_peak_bytes = max(self.memory_peak_bytes, answer.memory_peak_bytes)
        if answer.gpu_memory_peak_bytes is not None:
            self.gpu_memory_peak_bytes = max(self.gpu_memory_peak_bytes or 0, answer.gpu_memory_peak_bytes)

    @property
    def step_seconds(self) -> float:
        """How long a step takes about; from the first epoch (its first step is longer) where there is no round."""
        runs = self.rounds or ([self.first] if self.first else [])
        steps = sorted(seconds for run in runs for seconds in run.step_seconds)
        if steps:
            return steps[len(steps) // 2]
        return runs[-1].epoch_seconds[-1] if runs else 1.0
