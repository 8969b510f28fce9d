# /// script
# requires-python = ">=3.11"
# dependencies = ["deepagents>=0.3", "langchain-mcp-adapters>=0.3", "mcp<2"]
# ///
"""What two agents read for the same questions (after `knowtrail quickstart`).

An agent of LangGraph's and a deep agent: documents needed that tools gave them, calls,
tokens. `uv run --script PATH [COMMAND...]` runs it. Put models of yours in place.
"""

import asyncio
import os
import sys
from statistics import fmean
from typing import Any

from deepagents import create_deep_agent
from langchain.agents import create_agent
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_mcp_adapters.client import MultiServerMCPClient
from langchain_mcp_adapters.tools import load_mcp_tools

NEEDED = {
    "How did sailors find their longitude at sea?": ["John Harrison", "Sextant"],
    "What makes a clock go wrong?": ["Marine chronometer", "Pendulum clock"],
}
AGENTS = {create_agent: ["search"], create_deep_agent: ["list_corpora", "search"]}


class Scripted(GenericFakeChatModel):
    """A model that has its answers already."""

    def bind_tools(self, *_: Any, **__: Any) -> "Scripted":  # noqa: D102
        return self


async def evaluate(command: list[str]) -> None:
    """Let both answer all questions over one server."""
    server = {"transport": "stdio", "command": command[0], "args": command[1:]}
    client = MultiServerMCPClient({"knowtrail": server | {"env": dict(os.environ)}})
    async with client.session("knowtrail") as session:
        tools = await load_mcp_tools(session)
        for make, used in AGENTS.items():
            rows = []
            for question, needed in NEEDED.items():
                args = {"search": {"question": question, "corpus": "quickstart"}}
                calls = [{"name": t, "args": args.get(t, {}), "id": t} for t in used]
                script = [*(AIMessage("", tool_calls=[one]) for one in calls), "Done."]
                agent = make(Scripted(messages=iter(script)), tools)
                done = await agent.ainvoke({"messages": [("human", question)]})
                read = [m.text for m in done["messages"] if m.type == "tool"]
                found = [100 * any(title in text for text in read) for title in needed]
                rows.append((fmean(found), len(read), len("".join(read)) / 4))
            share, count, tokens = map(fmean, zip(*rows, strict=True))
            print(make.__name__, f"{share:.0f} % {count:.0f} calls {tokens:.0f} tokens")


asyncio.run(evaluate(sys.argv[1:] or ["knowtrail", "mcp"]))
