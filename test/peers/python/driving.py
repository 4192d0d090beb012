"""What the Python clients share: runs are read from standard input, what each saw is written to standard output, a line of JSON each."""

import asyncio
import json
import sys
import uuid
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from contextvars import ContextVar
from typing import Any, Protocol

STATIC = "test://static"
WATCHED = "test://watched"


class Peer(Protocol):
    """One connection of one SDK's client, in the words of the runs."""

    revision: str
    logged: list[Any]
    changes: list[str]

    async def list_tools(self) -> list[str]: ...
    async def call(self, name: str, arguments: dict[str, Any], on_progress: Any = None) -> Any: ...
    async def cancelled_call(self, name: str, arguments: dict[str, Any], started: Callable[[], Awaitable[None]]) -> str: ...
    async def list_resources(self) -> list[str]: ...
    async def list_templates(self) -> list[str]: ...
    async def read(self, uri: str) -> Any: ...
    async def list_prompts(self) -> list[str]: ...
    async def prompt(self, name: str, arguments: dict[str, str]) -> Any: ...
    async def complete(self, prompt: str, argument: str, value: str) -> list[str]: ...
    async def want_logs(self) -> None: ...
    def watching(self, uri: str) -> AbstractAsyncContextManager[None]: ...


Connect = Callable[[str, str, str], AbstractAsyncContextManager[Peer]]


class Refused(Exception):
    """A JSON-RPC error, whatever the SDK makes of it."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.seen = {"code": code, "message": message, **({} if data is None else {"data": data})}


def plain(result: Any) -> Any:
    """A result without what names its server, its revision and how long it may be kept."""
    seen = result.model_dump(mode="json", by_alias=True, exclude_none=True)
    return {key: value for key, value in seen.items() if key not in ("_meta", "resultType", "ttlMs", "cacheScope")}


def leaves(error: BaseException) -> BaseException:
    """The first error inside a group of them."""
    return leaves(error.exceptions[0]) if isinstance(error, BaseExceptionGroup) else error


patience_s = ContextVar("patience_s", default=3.0)
"""How long a run waits for what may never come: a notification, a question to the client, the end of a cancelled call."""
CALL_S = 20.0
LAST_WORD_S = 3.0
"""How long the answer to a cancelled call is waited for."""


async def until(is_so: Callable[[], bool | Awaitable[bool]], seconds: float | None = None) -> bool:
    for _ in range(int((seconds or patience_s.get()) / 0.02)):
        so = is_so()
        if so if isinstance(so, bool) else await so:
            return True
        await asyncio.sleep(0.02)
    return False


async def tools(peer: Peer) -> Any:
    return sorted(name for name in await peer.list_tools() if not name.startswith("late_"))


async def results(peer: Peer) -> Any:
    return [await peer.call("echo", {"text": "a \u00e9\u2028\U0001f600"}), await peer.call("structured", {"n": 3}), await peer.call("fail", {})]


async def unknown_tool(peer: Peer) -> Any:
    return await peer.call("nothing_like_it", {})


async def protocol_error(peer: Peer) -> Any:
    return await peer.call("needs_url", {})


async def progress(peer: Peer) -> Any:
    steps: list[Any] = []

    async def on_progress(done: float, total: float | None, message: str | None) -> None:
        steps.append([done, total, message])

    answer = await peer.call("progress", {"steps": 3}, on_progress)
    await until(lambda: len(steps) == 3)
    return [answer, steps]


async def logs(peer: Peer) -> Any:
    await peer.want_logs()
    peer.logged.clear()
    answer = await peer.call("log", {})
    await until(lambda: len(peer.logged) == 2)
    return [answer, list(peer.logged)]


def asking(tool: str) -> Callable[[Peer], Awaitable[Any]]:
    return lambda peer: asyncio.wait_for(peer.call(tool, {}), patience_s.get())


async def resources(peer: Peer) -> Any:
    return [sorted(await peer.list_resources()), await peer.list_templates(), await peer.read(STATIC), await peer.read("test://item/7")]


async def unknown_resource(peer: Peer) -> Any:
    return await peer.read("test://nowhere")


async def prompts(peer: Peer) -> Any:
    return [await peer.list_prompts(), await peer.prompt("hello", {"who": "Ada"})]


async def completion(peer: Peer) -> Any:
    return await peer.complete("hello", "who", "A")


async def subscription(peer: Peer) -> Any:
    async with peer.watching(WATCHED):
        peer.changes.clear()
        await peer.call("touch", {})
        return await until(lambda: f"updated {WATCHED}" in peer.changes)


async def list_changed(peer: Peer) -> Any:
    late = f"late_{uuid.uuid4().hex[:8]}"
    async with peer.watching(""):
        peer.changes.clear()
        await peer.call("add_tool", {"name": late})
        heard = await until(lambda: "tools" in peer.changes)

        async def listed() -> bool:
            return late in await peer.list_tools()

        seen = await until(listed)
        answer = await peer.call(late, {})
        await peer.call("remove_tool", {"name": late})
        return [heard, seen, answer]


async def cancel(peer: Peer) -> Any:
    key = uuid.uuid4().hex

    async def stands() -> str:
        return json.dumps(await peer.call("slow_state", {"key": key}))

    async def started() -> None:
        async def running() -> bool:
            return "running" in await stands()

        await until(running, CALL_S)

    answer = await peer.cancelled_call("slow", {"key": key}, started)

    async def cancelled() -> bool:
        return "cancelled" in await stands()

    return [answer, await until(cancelled)]


async def state(peer: Peer) -> Any:
    return [await peer.call("remember", {"value": "blue"}), await peer.call("recall", {})]


async def burst(peer: Peer) -> Any:
    calls = (peer.call("echo", {"text": str(n)}) for n in range(50))
    answers = await asyncio.gather(*calls, return_exceptions=True)
    return sum(f'"{n}"' in json.dumps(answer, default=repr) for n, answer in enumerate(answers))


CAPABILITIES: dict[str, Callable[[Peer], Awaitable[Any]]] = {
    "tools": tools,
    "results": results,
    "unknown tool": unknown_tool,
    "protocol error": protocol_error,
    "progress": progress,
    "log messages": logs,
    "sampling": asking("sample"),
    "elicitation": asking("elicit"),
    "roots": asking("roots"),
    "input required": asking("confirm"),
    "resources": resources,
    "unknown resource": unknown_resource,
    "prompts": prompts,
    "completion": completion,
    "subscription": subscription,
    "list changed": list_changed,
    "cancel": cancel,
    "state": state,
    "50 at once": burst,
}


async def attempt(do: Callable[[Peer], Awaitable[Any]], peer: Peer) -> Any:
    try:
        return {"ok": await asyncio.wait_for(do(peer), CALL_S)}
    except asyncio.CancelledError:
        raise
    except BaseException as error:
        return failure(error)


def failure(error: BaseException) -> Any:
    error = leaves(error)
    if isinstance(error, Refused):
        return {"error": error.seen}
    if isinstance(error, TimeoutError):
        return {"failed": "no answer"}
    return {"failed": f"{type(error).__name__}: {error}"[:300]}


async def run(connect: Connect, order: dict[str, Any]) -> dict[str, Any]:
    seen: dict[str, Any] = {}
    patience_s.set(order["patienceS"])
    try:
        for again in (False, True):
            async with connect(order["url"], order["transport"], order["era"]) as peer:
                if again:
                    seen["reconnect"] = await attempt(tools, peer)
                    break
                seen["revision"] = peer.revision
                for name, capability in CAPABILITIES.items():
                    if name in order["only"]:
                        seen[name] = await attempt(capability, peer)
    except asyncio.CancelledError:
        raise
    except BaseException as error:
        seen["connect"] = failure(error)
    return seen


async def drive(connect: Connect) -> None:
    """Carries out the runs one after the other, and ends with standard input."""
    while line := await asyncio.to_thread(sys.stdin.readline):
        seen: dict[str, Any] = {}
        try:
            seen = await asyncio.wait_for(run(connect, json.loads(line)), 100)
        except TimeoutError:
            seen = {"connect": {"failed": "the run does not end"}}
        print(json.dumps(seen), flush=True)
