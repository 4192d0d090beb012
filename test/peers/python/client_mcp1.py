"""A client of the SDK `mcp` 1.x (up to 2025-11-25)."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

from mcp import ClientSession, McpError, types
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamablehttp_client
from pydantic import AnyUrl

from driving import CALL_S, LAST_WORD_S, Refused, drive, plain


async def sample(context: Any, params: Any) -> types.CreateMessageResult:
    return types.CreateMessageResult(role="assistant", content=types.TextContent(type="text", text="sampled"), model="none")


async def elicit(context: Any, params: Any) -> types.ElicitResult:
    return types.ElicitResult(action="accept", content={"colour": "red"})


async def roots(context: Any) -> types.ListRootsResult:
    return types.ListRootsResult(roots=[types.Root(uri=AnyUrl("file:///home/ada"), name="home")])


async def answered(answer: Awaitable[Any]) -> Any:
    try:
        return plain(await answer)
    except McpError as error:
        raise Refused(error.error.code, error.error.message, error.error.data) from None


class Mcp1:
    def __init__(self) -> None:
        self.session: ClientSession
        self.revision = ""
        self.logged: list[Any] = []
        self.changes: list[str] = []

    async def on_log(self, params: Any) -> None:
        self.logged.append([params.level, params.data])

    async def on_message(self, message: Any) -> None:
        match getattr(message, "root", None):
            case types.ToolListChangedNotification():
                self.changes.append("tools")
            case types.ResourceUpdatedNotification() as update:
                self.changes.append(f"updated {update.params.uri}")

    async def list_tools(self) -> list[str]:
        return [tool.name for tool in (await self.session.list_tools()).tools]

    async def call(self, name: str, arguments: dict[str, Any], on_progress: Any = None) -> Any:
        return await answered(self.session.call_tool(name, arguments, timedelta(seconds=CALL_S), on_progress))

    async def cancelled_call(self, name: str, arguments: dict[str, Any], started: Callable[[], Awaitable[None]]) -> str:
        number = self.session._request_id
        call = asyncio.create_task(self.call(name, arguments))
        await asyncio.sleep(0)
        await started()
        params = types.CancelledNotificationParams(requestId=number, reason="enough")
        await self.session.send_notification(types.ClientNotification(types.CancelledNotification(params=params)))
        done, _ = await asyncio.wait([call], timeout=LAST_WORD_S)
        if not done:
            call.cancel()
            return "no answer"
        return str(call.exception() or call.result())

    async def list_resources(self) -> list[str]:
        return [str(resource.uri) for resource in (await self.session.list_resources()).resources]

    async def list_templates(self) -> list[str]:
        return [template.uriTemplate for template in (await self.session.list_resource_templates()).resourceTemplates]

    async def read(self, uri: str) -> Any:
        return await answered(self.session.read_resource(AnyUrl(uri)))

    async def list_prompts(self) -> list[str]:
        return [prompt.name for prompt in (await self.session.list_prompts()).prompts]

    async def prompt(self, name: str, arguments: dict[str, str]) -> Any:
        return await answered(self.session.get_prompt(name, arguments))

    async def complete(self, prompt: str, argument: str, value: str) -> list[str]:
        ref = types.PromptReference(type="ref/prompt", name=prompt)
        return (await self.session.complete(ref, {"name": argument, "value": value})).completion.values

    async def want_logs(self) -> None:
        await answered(self.session.set_logging_level("debug"))

    @asynccontextmanager
    async def watching(self, uri: str) -> AsyncIterator[None]:
        if not uri:
            yield
            return
        await answered(self.session.subscribe_resource(AnyUrl(uri)))
        yield
        await answered(self.session.unsubscribe_resource(AnyUrl(uri)))


@asynccontextmanager
async def connect(url: str, transport: str, era: str) -> AsyncIterator[Mcp1]:
    peer = Mcp1()
    opened = sse_client(url) if transport == "HTTP+SSE" else streamablehttp_client(url)
    async with opened as (reading, writing, *_):
        async with ClientSession(
            reading,
            writing,
            sampling_callback=sample,
            elicitation_callback=elicit,
            list_roots_callback=roots,
            logging_callback=peer.on_log,
            message_handler=peer.on_message,
            client_info=types.Implementation(name="mcp 1", version="1"),
        ) as peer.session:
            peer.revision = (await peer.session.initialize()).protocolVersion
            yield peer


asyncio.run(drive(connect))
