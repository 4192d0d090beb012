"""A server of the SDK `mcp` 2.x (2026-07-28 and before)."""

import asyncio
import warnings
from typing import Annotated, Any
from weakref import WeakKeyDictionary

from mcp.server.mcpserver import Context, Elicit, ListRoots, MCPServer, Resolve, Sample
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import UrlElicitationRequiredError
from mcp_types import (
    Completion,
    CreateMessageResult,
    ElicitRequestURLParams,
    EmptyResult,
    ListRootsResult,
    SamplingMessage,
    SetLevelRequestParams,
    SubscribeRequestParams,
    TextContent,
    UnsubscribeRequestParams,
)
from pydantic import BaseModel

from serving import serve, slow, tell_all, work_slowly

warnings.simplefilter("ignore")
remembered: WeakKeyDictionary[Any, str] = WeakKeyDictionary()
watching: set[Any] = set()
WATCHED = "test://watched"
QUESTION = SamplingMessage(role="user", content=TextContent(type="text", text="what?"))


class Sum(BaseModel):
    n: int
    twice: float


class Colour(BaseModel):
    colour: str


def connection(ctx: Context) -> Any:
    """What lives as long as the session of the client."""
    return ctx.session._connection


def add_tools(server: MCPServer) -> None:
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
        page = ElicitRequestURLParams(mode="url", message="sign in", url="https://example.com/", elicitation_id="e1")
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
        remembered[connection(ctx)] = value
        return "kept"

    @server.tool()
    def recall(ctx: Context) -> str:
        return remembered.get(connection(ctx), "nothing")

    @server.tool()
    async def add_tool(name: str, ctx: Context) -> str:
        server.add_tool(lambda: "late", name=name, description="Comes late.")
        await ctx.notify_tools_changed()
        await ctx.session.send_tool_list_changed()
        return "added"

    @server.tool()
    async def remove_tool(name: str, ctx: Context) -> str:
        server.remove_tool(name)
        await ctx.notify_tools_changed()
        await ctx.session.send_tool_list_changed()
        return "removed"

    @server.tool()
    async def touch(ctx: Context) -> str:
        await ctx.notify_resource_updated(WATCHED)
        await tell_all(session.send_resource_updated(WATCHED) for session in watching)
        return "touched"


def add_questions(server: MCPServer) -> None:
    @server.tool()
    async def sample(ctx: Context) -> str:
        answer = await ctx.session.create_message([QUESTION], max_tokens=9, related_request_id=ctx.request_id)
        return answer.model_dump_json(by_alias=True, exclude_none=True)

    @server.tool()
    async def elicit(ctx: Context) -> str:
        return (await ctx.elicit("which?", Colour)).model_dump_json(exclude_none=True)

    @server.tool()
    async def roots(ctx: Context) -> str:
        return (await ctx.session.list_roots()).model_dump_json(by_alias=True, exclude_none=True)

    async def which() -> Elicit[Colour]:
        return Elicit("which?", Colour)

    async def what() -> Sample:
        return Sample([QUESTION], max_tokens=9)

    async def where() -> ListRoots:
        return ListRoots()

    @server.tool()
    async def confirm(
        colour: Annotated[Colour, Resolve(which)],
        sampled: Annotated[CreateMessageResult, Resolve(what)],
        roots: Annotated[ListRootsResult, Resolve(where)],
    ) -> str:
        return f"{colour.colour} {sampled.content.text} {roots.roots[0].uri}"


def add_others(server: MCPServer) -> None:
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

    async def subscribe(ctx: ServerRequestContext, params: Any) -> EmptyResult:
        watching.add(ctx.session._connection)
        return EmptyResult()

    async def unsubscribe(ctx: ServerRequestContext, params: Any) -> EmptyResult:
        watching.discard(ctx.session._connection)
        return EmptyResult()

    async def set_level(ctx: ServerRequestContext, params: Any) -> EmptyResult:
        return EmptyResult()

    low = server._lowlevel_server
    low.add_request_handler("resources/subscribe", SubscribeRequestParams, subscribe)
    low.add_request_handler("resources/unsubscribe", UnsubscribeRequestParams, unsubscribe)
    low.add_request_handler("logging/setLevel", SetLevelRequestParams, set_level)


def make() -> MCPServer:
    server = MCPServer("mcp 2", log_level="CRITICAL")
    add_tools(server)
    add_questions(server)
    add_others(server)
    return server


asyncio.run(
    serve(
        {
            "sse answers": (make().streamable_http_app(), "/mcp"),
            "json answers": (make().streamable_http_app(json_response=True), "/mcp"),
            "stateless": (make().streamable_http_app(stateless_http=True), "/mcp"),
            "HTTP+SSE": (make().sse_app(), "/sse"),
        }
    )
)
