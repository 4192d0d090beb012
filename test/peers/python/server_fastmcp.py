"""A server of `fastmcp`, of its major version 3 (up to 2025-11-25) or 4 (2026-07-28 and before), whichever is installed."""

import asyncio
from dataclasses import dataclass
from typing import Any

import fastmcp
from fastmcp import Context, FastMCP
from mcp.shared.exceptions import UrlElicitationRequiredError

from serving import serve, slow, work_slowly

IS_4 = fastmcp.__version__.startswith("4.")
WATCHED = "test://watched"

if IS_4:
    import mcp_types as types
else:
    from mcp import types


@dataclass
class Sum:
    n: int
    twice: float


@dataclass
class Colour:
    colour: str


def add_tools(server: FastMCP) -> None:
    @server.tool(output_schema=None)
    def echo(text: str) -> str:
        return text

    @server.tool
    def structured(n: int) -> Sum:
        return Sum(n=n, twice=2.0 * n)

    @server.tool
    def fail() -> str:
        raise ValueError("it does not work")

    @server.tool
    def needs_url() -> str:
        page = {"mode": "url", "message": "sign in", "url": "https://example.com/", "elicitationId": "e1"}
        raise UrlElicitationRequiredError([types.ElicitRequestURLParams.model_validate(page)])

    @server.tool
    async def progress(steps: int, ctx: Context) -> str:
        for step in range(1, steps + 1):
            await ctx.report_progress(step, steps, f"step {step}")
        return "done"

    @server.tool
    async def log(ctx: Context) -> str:
        await ctx.info("first")
        await ctx.warning("second")
        return "logged"

    @server.tool(name="slow")
    async def be_slow(key: str) -> str:
        return await work_slowly(key)

    @server.tool
    def slow_state(key: str) -> str:
        return slow.get(key, "unknown")

    @server.tool
    async def remember(value: str, ctx: Context) -> str:
        await ctx.set_state("value", value)
        return "kept"

    @server.tool
    async def recall(ctx: Context) -> str:
        return await ctx.get_state("value") or "nothing"

    @server.tool
    async def add_tool(name: str, ctx: Context) -> str:
        def late() -> str:
            return "late"

        server.tool(late, name=name)
        await ctx.session.send_tool_list_changed()
        return "added"

    @server.tool
    async def remove_tool(name: str, ctx: Context) -> str:
        server.local_provider.remove_tool(name)
        await ctx.session.send_tool_list_changed()
        return "removed"

    @server.tool
    async def touch(ctx: Context) -> str:
        await ctx.session.send_resource_updated(WATCHED)
        return "touched"


def add_questions(server: FastMCP) -> None:
    @server.tool
    async def sample(ctx: Context) -> str:
        question = types.SamplingMessage(role="user", content=types.TextContent(type="text", text="what?"))
        answer = await ctx.session.create_message([question], max_tokens=9, related_request_id=ctx.request_id)
        return answer.model_dump_json(by_alias=True, exclude_none=True)

    @server.tool
    async def elicit(ctx: Context) -> str:
        answer = await ctx.elicit("which?", Colour)
        return f"{answer.action} {answer.data.colour}" if answer.action == "accept" else answer.action

    @server.tool
    async def roots(ctx: Context) -> str:
        return (await ctx.session.list_roots()).model_dump_json(by_alias=True, exclude_none=True)

    if not IS_4:
        return

    @server.tool
    async def confirm(ctx: Context) -> str | types.InputRequiredResult:
        if not ctx.input_responses:
            schema = {"type": "object", "properties": {"colour": {"type": "string"}}}
            params = types.ElicitRequestFormParams(message="which?", requested_schema=schema)
            asked = types.ElicitRequest(method="elicitation/create", params=params)
            return types.InputRequiredResult(input_requests={"which": asked}, request_state="kept by the client")
        return f"{ctx.input_responses['which'].content} {ctx.request_state}"


def add_others(server: FastMCP) -> None:
    @server.resource("test://static")
    def static() -> str:
        return "static text"

    @server.resource(WATCHED)
    def watched() -> str:
        return "watched text"

    @server.resource("test://item/{number}")
    def item(number: str) -> str:
        return f"item {number}"

    @server.prompt
    def hello(who: str) -> str:
        return f"Say hello to {who}."


def make() -> FastMCP:
    server = FastMCP("fastmcp")
    add_tools(server)
    add_questions(server)
    add_others(server)
    return server


asyncio.run(
    serve(
        {
            "sse answers": (make().http_app(path="/mcp"), "/mcp"),
            "json answers": (make().http_app(path="/mcp", json_response=True), "/mcp"),
            "stateless": (make().http_app(path="/mcp", stateless_http=True), "/mcp"),
            "HTTP+SSE": (make().http_app(path="/sse", transport="sse"), "/sse"),
        }
    )
)
