# /// script
# requires-python = ">=3.11"
# dependencies = ["deepagents>=0.3", "langchain-mcp-adapters>=0.3", "mcp<2"]
# ///
"""A deep agent that reads the graph by `knowtrail mcp` (after `knowtrail quickstart`).

`uv run --script docs/examples/deep_agent.py [COMMAND...]` runs it in an environment of
its own, as any client of an MCP server has one. COMMAND starts the server, by default
`knowtrail mcp`. The model here says what a script tells it: put yours in its place, by
`init_chat_model("...")`.
"""

from __future__ import annotations

import asyncio
import os
import sys
from typing import Any

from deepagents import create_deep_agent
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_mcp_adapters.client import MultiServerMCPClient

QUESTION = "How did sailors find their longitude at sea?"


class Scripted(GenericFakeChatModel):
    """A model that has its answers already."""

    def bind_tools(self, tools: Any, **_: Any) -> Scripted:
        """Take any tools; the script knows which it calls."""
        return self


def called(tool: str, **arguments: Any) -> AIMessage:
    """Return a message that calls a tool."""
    return AIMessage("", tool_calls=[{"name": tool, "args": arguments, "id": tool}])


async def ask(command: list[str]) -> None:
    """Let the agent look around, search, and answer."""
    script = [
        called("list_corpora"),
        called("search", question=QUESTION, corpus="quickstart", k=3),
        AIMessage("By clocks that kept the time of the home port."),
    ]
    server = {"transport": "stdio", "command": command[0], "args": command[1:]}
    client = MultiServerMCPClient({"knowtrail": server | {"env": dict(os.environ)}})
    tools = await client.get_tools()
    told = "Answer from passages of the graph alone, and cite their ids."
    model = Scripted(messages=iter(script))
    agent = create_deep_agent(model, tools, system_prompt=told)
    said = await agent.ainvoke({"messages": [("human", QUESTION)]})
    for message in said["messages"]:
        print(f"{message.type}: {message.text[:300]}")


asyncio.run(ask(sys.argv[1:] or ["knowtrail", "mcp"]))
