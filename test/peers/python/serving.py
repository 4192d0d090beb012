"""What the Python servers share: one uvicorn per way of serving, and the URLs on standard output."""

import asyncio
import json
import socket
import sys
from collections.abc import Coroutine, Iterable
from typing import Any

import uvicorn

slow: dict[str, str] = {}
"""How each call of the tool `slow` stands: running, cancelled or finished."""


async def work_slowly(key: str) -> str:
    """Works until it is cancelled, 10 s at the longest, and notes how it ended."""
    slow[key] = "running"
    try:
        await asyncio.sleep(10)
    except BaseException:
        slow[key] = "cancelled"
        raise
    slow[key] = "finished"
    return "finished"


async def tell_all(tellings: Iterable[Coroutine[Any, Any, None]]) -> None:
    """Does not wait for sessions that are over, which may never take what they are told."""
    tasks = [asyncio.create_task(telling) for telling in tellings]
    if tasks:
        await asyncio.wait(tasks, timeout=0.2)


async def serve(apps: dict[str, tuple[Any, str]]) -> None:
    """Serves each app, given with its path, on a port of its own until standard input ends."""
    urls: dict[str, str] = {}
    servers: list[uvicorn.Server] = []
    running: list[asyncio.Task[None]] = []
    for name, (app, path) in apps.items():
        listener = socket.socket()
        listener.bind(("127.0.0.1", 0))
        urls[name] = f"http://127.0.0.1:{listener.getsockname()[1]}{path}"
        config = uvicorn.Config(app, log_level="critical", timeout_graceful_shutdown=0)
        servers.append(uvicorn.Server(config))
        running.append(asyncio.create_task(servers[-1].serve(sockets=[listener])))
    while not all(server.started for server in servers):
        await asyncio.sleep(0.01)
    print(json.dumps(urls), flush=True)
    await asyncio.to_thread(sys.stdin.read)
    for server in servers:
        server.force_exit = server.should_exit = True
    await asyncio.wait(running, timeout=2)
