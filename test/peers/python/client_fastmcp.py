"""A client of `fastmcp`, of its major version 3 (up to 2025-11-25) or 4 (2026-07-28 and before), whichever is installed."""

import asyncio
import warnings
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import fastmcp
from fastmcp import Client
from fastmcp.client.transports import SSETransport, StreamableHttpTransport

from driving import CALL_S, LAST_WORD_S, Refused, drive, plain

warnings.simplefilter("ignore")
IS_4 = fastmcp.__version__.startswith("4.")

if IS_4:
    from mcp import MCPError
else:
    from mcp import McpError as MCPError


async def sample(messages: Any, params: Any, context: Any) -> str:
    return "sampled"


async def elicit(message: str, response_type: Any, params: Any, context: Any) -> Any:
    return {"colour": "red"}


async def answered(answer: Awaitable[Any]) -> Any:
    try:
        return plain(await answer)
    except MCPError as error:
        raise Refused(error.error.code, error.error.message, error.error.data) from None


class FastMcp:
    def __init__(self, url: str, transport: str, era: str) -> None:
        more = {"mode": era} if IS_4 else {}
        self.client = Client(
            SSETransport(url) if transport == "HTTP+SSE" else StreamableHttpTransport(url),
            sampling_handler=sample,
            elicitation_handler=elicit,
            roots=["file:///home/ada"],
            log_handler=self.on_log,
            message_handler=self.on_message,
            **more,
        )
        self.logged: list[Any] = []
        self.changes: list[str] = []
        self.numbers = 0

    @property
    def revision(self) -> str:
        if IS_4:
            return self.client.session.protocol_version
        return str(self.client.initialize_result.protocolVersion)

    async def on_log(self, params: Any) -> None:
        self.logged.append([params.level, params.data])

    async def on_message(self, message: Any) -> None:
        message = getattr(message, "root", message)
        match getattr(message, "method", None):
            case "notifications/tools/list_changed":
                self.changes.append("tools")
            case "notifications/resources/updated":
                self.changes.append(f"updated {message.params.uri}")

    async def list_tools(self) -> list[str]:
        return [tool.name for tool in (await self.client.list_tools())]

    async def call(self, name: str, arguments: dict[str, Any], on_progress: Any = None) -> Any:
        return await answered(self.client.call_tool_mcp(name, arguments, progress_handler=on_progress, timeout=CALL_S))

    async def cancelled_call(self, name: str, arguments: dict[str, Any], started: Callable[[], Awaitable[None]]) -> str:
        is_legacy = self.revision < "2026"
        number = self.next_number()
        call = asyncio.create_task(self.call(name, arguments))
        await asyncio.sleep(0.01)
        await started()
        # A request of 2026-07-28 is cancelled by closing it.
        await self.client.cancel(number, "enough") if is_legacy else call.cancel()
        done, _ = await asyncio.wait([call], timeout=LAST_WORD_S)
        if not done:
            call.cancel()
            return "no answer"
        return "cancelled" if call.cancelled() else str(call.exception() or call.result())

    def next_number(self) -> int:
        """The id that the next request gets, which the client does not tell."""
        if IS_4:
            return self.client.session._dispatcher._next_id + 1
        return self.client.session._request_id

    async def list_resources(self) -> list[str]:
        return [str(resource.uri) for resource in await self.client.list_resources()]

    async def list_templates(self) -> list[str]:
        templates = await self.client.list_resource_templates_mcp()
        return [template["uriTemplate"] for template in templates.model_dump(by_alias=True)["resourceTemplates"]]

    async def read(self, uri: str) -> Any:
        return await answered(self.client.read_resource_mcp(uri))

    async def list_prompts(self) -> list[str]:
        return [prompt.name for prompt in await self.client.list_prompts()]

    async def prompt(self, name: str, arguments: dict[str, str]) -> Any:
        return await answered(self.client.get_prompt_mcp(name, arguments))

    async def complete(self, prompt: str, argument: str, value: str) -> list[str]:
        raise Refused(0, "fastmcp servers have no completion")

    async def want_logs(self) -> None:
        if self.revision < "2026":
            await self.client.set_logging_level("debug")

    @asynccontextmanager
    async def watching(self, uri: str) -> AsyncIterator[None]:
        if uri:
            raise Refused(0, "fastmcp clients do not subscribe")
        yield


@asynccontextmanager
async def connect(url: str, transport: str, era: str) -> AsyncIterator[FastMcp]:
    peer = FastMcp(url, transport, era)
    async with peer.client:
        yield peer


asyncio.run(drive(connect))
