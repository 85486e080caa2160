"""Jobs side by side, as many as fit into a GPU's memory and keep the host busy."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import TypeVar

Job = TypeVar("Job")
Result = TypeVar("Result")


def side_by_side(
    jobs: Sequence[Job], size: Callable[[Job], float], room: float, most: int, run: Callable[[Job], Result]
) -> Iterator[tuple[Job, Result]]:
    """Yield each job with its result as soon as it is there.

    At most `most` run at once, and together they are no larger than `room`; one that is larger than that runs alone. A
    job that does not fit beside the others lets smaller ones behind it go first.
    """
    waiting, running = list(jobs), dict[Future[Result], Job]()
    with ThreadPoolExecutor(max_workers=most) as pool:
        while waiting or running:
            for job in list(waiting):
                taken = sum(map(size, running.values()))
                if len(running) < most and (not running or taken + size(job) <= room):
                    waiting.remove(job)
                    running[pool.submit(run, job)] = job
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                yield running.pop(future), future.result()
