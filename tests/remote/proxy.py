"""A line between two programs with the faults of real ones: delay, a rate, silence, a cut. Bytes are counted."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from collections.abc import Awaitable, Callable, Iterator
from typing import TypeVar

_CHUNK = 16 * 1024
_UNDER_WAY = 64
"""Pieces that a slow line holds before it takes no more: 1 MiB."""
T = TypeVar("T")


class Proxy:
    """Passes connections on `port` to `target` (a port on loopback). All may be changed at any time, from any thread.

    `delay` is one way in seconds, `rate` in bytes a second in each direction (0: no limit). `up` and `down` count the
    bytes towards the target and from it. With `cut_after` the line is cut once so many more bytes came down.
    """

    def __init__(self, target: int, delay: float = 0.0, rate: float = 0.0) -> None:
        self.target = target
        self.delay = delay
        self.rate = rate
        self.up = 0
        self.down = 0
        self.connections = 0
        self.cut_after: int | None = None
        self._refuses = False
        self._writers: set[asyncio.StreamWriter] = set()
        self._loop = asyncio.new_event_loop()
        self._heard = asyncio.Event()
        self._thread = threading.Thread(target=self._loop.run_forever, name="proxy", daemon=True)
        self._thread.start()
        self.port = self._run(self._listen)

    def silence(self, silent: bool = True) -> None:
        """Pass nothing on, and keep every connection: a cable pulled, a laptop asleep."""

        async def change() -> None:
            (self._heard.clear if silent else self._heard.set)()

        self._run(change)

    def cut(self, refuse: bool = False) -> None:
        """End all connections at once; with `refuse` also each new one, until `mend`."""

        async def change() -> None:
            self._refuses = refuse
            self._cut()

        self._run(change)

    def mend(self) -> None:
        """Take new connections again, and pass on what waits."""
        self._refuses = False
        self.silence(False)

    def close(self) -> None:
        async def end() -> None:
            self._server.close()
            self._heard.set()
            self._cut()
            if serving := asyncio.all_tasks() - {asyncio.current_task()}:
                await asyncio.wait(serving, timeout=5)

        self._run(end)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _run(self, work: Callable[[], Awaitable[T]]) -> T:
        async def call() -> T:
            return await work()

        return asyncio.run_coroutine_threadsafe(call(), self._loop).result(20)

    async def _listen(self) -> int:
        self._heard.set()
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._refuses:
            writer.transport.abort()
            return
        self.connections += 1
        try:
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self.target)
        except OSError:
            writer.transport.abort()
            return
        ends = {writer, far_writer}
        self._writers |= ends
        for end in ends:
            end.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with contextlib.suppress(OSError):
            await asyncio.gather(
                self._pump(reader, far_writer, self._count_up), self._pump(far_reader, writer, self._count_down)
            )
        for end in ends:
            end.transport.abort()
        self._writers -= ends

    async def _pump(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, count: Callable[[int], None]
    ) -> None:
        under_way: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue(_UNDER_WAY)
        delivery = asyncio.create_task(self._deliver(under_way, writer))
        try:
            data = b"begin"
            while data:
                data = await reader.read(_CHUNK)
                count(len(data))
                await under_way.put((self._loop.time() + self.delay, data))
                if self.rate:
                    await asyncio.sleep(len(data) / self.rate)
            await delivery
        finally:
            delivery.cancel()

    async def _deliver(self, under_way: asyncio.Queue[tuple[float, bytes]], writer: asyncio.StreamWriter) -> None:
        while True:
            due, data = await under_way.get()
            await asyncio.sleep(max(0.0, due - self._loop.time()))
            await self._heard.wait()
            if not data:
                with contextlib.suppress(OSError):
                    writer.write_eof()
                return
            writer.write(data)
            await writer.drain()

    def _count_up(self, size: int) -> None:
        self.up += size

    def _count_down(self, size: int) -> None:
        self.down += size
        if self.cut_after is not None:
            self.cut_after -= size
            if self.cut_after <= 0:
                self.cut_after = None
                self._cut()

    def _cut(self) -> None:
        for writer in self._writers:
            writer.transport.abort()


@contextlib.contextmanager
def proxy_to(port: int, delay: float = 0.0, rate: float = 0.0) -> Iterator[Proxy]:
    proxy = Proxy(port, delay, rate)
    try:
        yield proxy
    finally:
        proxy.close()
