"""A client of the SDK `mcp` 2.x (2026-07-28 and before)."""

import asyncio
import warnings
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from mcp import Client, MCPError, types
from mcp.client.sse import sse_client
from mcp.client.subscriptions import ResourceUpdated, ToolsListChanged

from driving import CALL_S, LAST_WORD_S, Refused, drive, plain

warnings.simplefilter("ignore")


async def sample(context: Any, params: Any) -> types.CreateMessageResult:
    return types.CreateMessageResult(role="assistant", content=types.TextContent(type="text", text="sampled"), model="none")


async def elicit(context: Any, params: Any) -> types.ElicitResult:
    return types.ElicitResult(action="accept", content={"colour": "red"})


async def roots(context: Any) -> types.ListRootsResult:
    return types.ListRootsResult(roots=[types.Root(uri="file:///home/ada", name="home")])


async def answered(answer: Awaitable[Any]) -> Any:
    try:
        return plain(await answer)
    except MCPError as error:
        raise Refused(error.code, error.message, error.data) from None


class Mcp2:
    def __init__(self) -> None:
        self.client: Client
        self.logged: list[Any] = []
        self.changes: list[str] = []

    @property
    def revision(self) -> str:
        return self.client.protocol_version

    async def on_log(self, params: Any) -> None:
        self.logged.append([params.level, params.data])

    async def on_message(self, message: Any) -> None:
        match message:
            case types.ToolListChangedNotification():
                self.changes.append("tools")
            case types.ResourceUpdatedNotification():
                self.changes.append(f"updated {message.params.uri}")

    async def list_tools(self) -> list[str]:
        return [tool.name for tool in (await self.client.list_tools(cache_mode="bypass")).tools]

    async def call(self, name: str, arguments: dict[str, Any], on_progress: Any = None) -> Any:
        return await answered(self.client.call_tool(name, arguments, CALL_S, on_progress))

    async def cancelled_call(self, name: str, arguments: dict[str, Any], started: Callable[[], Awaitable[None]]) -> str:
        call = asyncio.create_task(self.call(name, arguments))
        await started()
        call.cancel()
        await asyncio.wait([call], timeout=LAST_WORD_S)
        return "cancelled" if call.cancelled() else "no answer"

    async def list_resources(self) -> list[str]:
        return [str(resource.uri) for resource in (await self.client.list_resources()).resources]

    async def list_templates(self) -> list[str]:
        return [template.uri_template for template in (await self.client.list_resource_templates()).resource_templates]

    async def read(self, uri: str) -> Any:
        return await answered(self.client.read_resource(uri, cache_mode="bypass"))

    async def list_prompts(self) -> list[str]:
        return [prompt.name for prompt in (await self.client.list_prompts()).prompts]

    async def prompt(self, name: str, arguments: dict[str, str]) -> Any:
        return await answered(self.client.get_prompt(name, arguments))

    async def complete(self, prompt: str, argument: str, value: str) -> list[str]:
        ref = types.PromptReference(type="ref/prompt", name=prompt)
        return (await self.client.complete(ref, {"name": argument, "value": value})).completion.values

    async def want_logs(self) -> None:
        if self.revision < "2026":
            await answered(self.client.set_logging_level("debug"))

    @asynccontextmanager
    async def watching(self, uri: str) -> AsyncIterator[None]:
        if self.revision < "2026":
            if uri:
                await answered(self.client.subscribe_resource(uri))
            yield
            if uri:
                await answered(self.client.unsubscribe_resource(uri))
            return
        async with self.client.listen(tools_list_changed=True, resource_subscriptions=[uri] if uri else []) as heard:
            listening = asyncio.create_task(self.listen(heard))
            yield
            listening.cancel()

    async def listen(self, heard: Any) -> None:
        async for event in heard:
            match event:
                case ToolsListChanged():
                    self.changes.append("tools")
                case ResourceUpdated():
                    self.changes.append(f"updated {event.uri}")


@asynccontextmanager
async def connect(url: str, transport: str, era: str) -> AsyncIterator[Mcp2]:
    peer = Mcp2()
    async with Client(
        sse_client(url) if transport == "HTTP+SSE" else url,
        sampling_callback=sample,
        elicitation_callback=elicit,
        list_roots_callback=roots,
        logging_callback=peer.on_log,
        log_level="debug",
        message_handler=peer.on_message,
        client_info=types.Implementation(name="mcp 2", version="1"),
        mode=era,
    ) as peer.client:
        yield peer


asyncio.run(drive(connect))
