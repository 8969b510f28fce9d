"""An agent of LangGraph's that searches the graph (run `knowtrail quickstart` first).

The model here says what a script tells it, so that the example runs anywhere. Put yours
in its place: `init_chat_model("...").bind_tools(tools)`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition

from knowtrail import KnowtrailRetriever

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

QUESTION = "How did sailors find their longitude at sea?"

model = GenericFakeChatModel(
    messages=iter([
        AIMessage("", tool_calls=[
            {"name": "search_passages", "args": {"question": QUESTION}, "id": "1"}
        ]),
        AIMessage("By clocks that kept the time of the home port."),
    ])
)  # fmt: skip

with KnowtrailRetriever.from_env(corpus="quickstart", k=3) as retriever:
    tools = [retriever.as_tool()]

    def think(state: MessagesState) -> dict[str, list[AIMessage]]:
        """Let the model answer, or call a tool."""
        return {"messages": [model.invoke(state["messages"])]}

    graph = StateGraph(MessagesState)
    graph.add_node("think", think)
    graph.add_node("tools", ToolNode(tools))
    graph.add_edge(START, "think")
    graph.add_conditional_edges("think", tools_condition)
    graph.add_edge("tools", "think")
    agent = graph.compile(checkpointer=InMemorySaver())
    thread: RunnableConfig = {"configurable": {"thread_id": "sailors"}}
    said = agent.invoke({"messages": [("human", QUESTION)]}, thread)
    for message in said["messages"]:
        print(f"{message.type}: {message.text[:300]}")
