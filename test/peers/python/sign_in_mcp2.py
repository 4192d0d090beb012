"""A client of the SDK `mcp` 2.x that signs in by itself.

It is told the address of a server, says where a browser has to go and is told where the browser ended up. Then each line it is told is the name
of a tool, or empty: it calls the tool, or lists all.
"""

import asyncio
import json
import sys
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
from mcp import Client
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientMetadata

from driving import plain


async def told() -> str:
    return (await asyncio.to_thread(sys.stdin.readline)).rstrip("\n")


def say(text: str) -> None:
    print(text, flush=True)


class Memory:
    """What is remembered of the login."""

    def __init__(self) -> None:
        self.tokens: Any = None
        self.client: Any = None

    async def get_tokens(self) -> Any:
        return self.tokens

    async def set_tokens(self, tokens: Any) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> Any:
        return self.client

    async def set_client_info(self, client_info: Any) -> None:
        self.client = client_info


async def to_browser(url: str) -> None:
    say(url)


async def from_browser() -> AuthorizationCodeResult:
    query = parse_qs(urlsplit(await told()).query)
    return AuthorizationCodeResult(**{name: query[name][0] for name in ("code", "state", "iss") if name in query})


async def main() -> None:
    url, redirect, era = await told(), await told(), await told()
    metadata = OAuthClientMetadata(
        client_name="mcp 2",
        redirect_uris=[redirect],
        grant_types=["authorization_code", "refresh_token"],
        token_endpoint_auth_method="none",
    )
    auth = OAuthClientProvider(url, metadata, Memory(), to_browser, from_browser)
    async with (
        httpx2.AsyncClient(auth=auth, timeout=30) as http,
        Client(streamable_http_client(url, http_client=http), mode=era) as client,
    ):
        say("")
        while order := await told():
            result = await (client.list_tools() if order == "list" else client.call_tool(order, {}))
            say(json.dumps(plain(result)))


asyncio.run(main())
