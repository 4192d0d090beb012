"""A server of the SDK `mcp` 1.x (up to 2025-11-25)."""

import asyncio
from typing import Any
from weakref import WeakKeyDictionary

from mcp.server.fastmcp import Context, FastMCP
from mcp.shared.exceptions import UrlElicitationRequiredError
from mcp.types import Completion, ElicitRequestURLParams, SamplingMessage, TextContent
from pydantic import AnyUrl, BaseModel

from serving import serve, slow, tell_all, work_slowly

remembered: WeakKeyDictionary[Any, str] = WeakKeyDictionary()
watching: set[Any] = set()
WATCHED = AnyUrl("test://watched")


class Sum(BaseModel):
    n: int
    twice: float


class Colour(BaseModel):
    colour: str


def add_tools(server: FastMCP) -> None:
    @server.tool(structured_output=False)
    def echo(text: str) -> str:
        return text

    @server.tool()
    def structured(n: int) -> Sum:
        return Sum(n=n, twice=2.0 * n)

    @server.tool()
    def fail() -> str:
        raise ValueError("it does not work")

    @server.tool()
    def needs_url() -> str:
        page = ElicitRequestURLParams(mode="url", message="sign in", url="https://example.com/", elicitationId="e1")
        raise UrlElicitationRequiredError([page])

    @server.tool()
    async def progress(steps: int, ctx: Context) -> str:
        for step in range(1, steps + 1):
            await ctx.report_progress(step, steps, f"step {step}")
        return "done"

    @server.tool()
    async def log(ctx: Context) -> str:
        await ctx.info("first")
        await ctx.warning("second")
        return "logged"

    @server.tool(name="slow")
    async def be_slow(key: str) -> str:
        return await work_slowly(key)

    @server.tool()
    def slow_state(key: str) -> str:
        return slow.get(key, "unknown")

    @server.tool()
    def remember(value: str, ctx: Context) -> str:
        remembered[ctx.session] = value
        return "kept"

    @server.tool()
    def recall(ctx: Context) -> str:
        return remembered.get(ctx.session, "nothing")

    @server.tool()
    async def add_tool(name: str, ctx: Context) -> str:
        server.add_tool(lambda: "late", name=name, description="Comes late.")
        await ctx.session.send_tool_list_changed()
        return "added"

    @server.tool()
    async def remove_tool(name: str, ctx: Context) -> str:
        server.remove_tool(name)
        await ctx.session.send_tool_list_changed()
        return "removed"

    @server.tool()
    async def touch() -> str:
        await tell_all(session.send_resource_updated(WATCHED) for session in watching)
        return "touched"


def add_questions(server: FastMCP) -> None:
    @server.tool()
    async def sample(ctx: Context) -> str:
        question = SamplingMessage(role="user", content=TextContent(type="text", text="what?"))
        answer = await ctx.session.create_message([question], max_tokens=9, related_request_id=ctx.request_id)
        return answer.model_dump_json(exclude_none=True)

    @server.tool()
    async def elicit(ctx: Context) -> str:
        answer = await ctx.elicit("which?", Colour)
        return answer.model_dump_json(exclude_none=True)

    @server.tool()
    async def roots(ctx: Context) -> str:
        return (await ctx.session.list_roots()).model_dump_json(exclude_none=True)


def add_others(server: FastMCP) -> None:
    @server.resource("test://static")
    def static() -> str:
        return "static text"

    @server.resource("test://watched")
    def watched() -> str:
        return "watched text"

    @server.resource("test://item/{number}")
    def item(number: str) -> str:
        return f"item {number}"

    @server.prompt()
    def hello(who: str) -> str:
        return f"Say hello to {who}."

    @server.completion()
    async def complete(ref: Any, argument: Any, context: Any) -> Completion:
        return Completion(values=[name for name in ("Ada", "Bob") if name.startswith(argument.value)])

    low = server._mcp_server

    @low.subscribe_resource()
    async def subscribe(uri: AnyUrl) -> None:
        watching.add(low.request_context.session)

    @low.unsubscribe_resource()
    async def unsubscribe(uri: AnyUrl) -> None:
        watching.discard(low.request_context.session)

    @low.set_logging_level()
    async def set_level(level: str) -> None:
        pass


def make(**settings: Any) -> FastMCP:
    server = FastMCP("mcp 1", log_level="CRITICAL", **settings)
    add_tools(server)
    add_questions(server)
    add_others(server)
    return server


asyncio.run(
    serve(
        {
            "sse answers": (make().streamable_http_app(), "/mcp"),
            "json answers": (make(json_response=True).streamable_http_app(), "/mcp"),
            "stateless": (make(stateless_http=True).streamable_http_app(), "/mcp"),
            "HTTP+SSE": (make().sse_app(), "/sse"),
        }
    )
)
