"""An agent whose memory is in Neo4j (run `knowtrail quickstart` first).

`Neo4jSaver` keeps its thread, with every step and tool call: a second program goes on
with it. `Neo4jChatMessageHistory` keeps what a person said and was told, without tools.
The model here says what a script tells it: put yours, with its tools, in its place.
"""

import neo4j
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage
from langchain_neo4j import Neo4jChatMessageHistory
from langchain_neo4j.checkpoint import Neo4jSaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition

from knowtrail import KnowtrailRetriever
from knowtrail.graph.session import served
from knowtrail.graph.settings import Settings

ASKED = {"question": "longitude at sea"}
SEARCH = {"name": "search_passages", "args": ASKED, "id": "1"}
CLOCKS = AIMessage("By clocks.")


def ask(settings: Settings, question: str, *script: AIMessage) -> None:
    """Do what a program does that asks the agent once, and then ends."""
    model = GenericFakeChatModel(messages=iter(script))
    login = (settings.username, settings.password or "")
    with (
        neo4j.GraphDatabase.driver(settings.uri or "", auth=login) as driver,
        KnowtrailRetriever(driver=driver, corpus="quickstart", k=3) as retriever,
    ):
        graph = StateGraph(MessagesState)
        graph.add_node("think", lambda s: {"messages": [model.invoke(s["messages"])]})
        graph.add_node("tools", ToolNode([retriever.as_tool()]))
        graph.add_edge(START, "think")
        graph.add_conditional_edges("think", tools_condition)
        graph.add_edge("tools", "think")
        saver = Neo4jSaver(driver, settings.database)
        saver.setup()
        agent = graph.compile(checkpointer=saver)
        thread = {"configurable": {"thread_id": "sailors"}}
        known = len(agent.get_state(thread).values.get("messages", ()))
        said = agent.invoke({"messages": [("human", question)]}, thread)["messages"]
        place = ("mara", settings.uri, *login, settings.database)
        history = Neo4jChatMessageHistory(*place, window=10)
        history.add_messages([HumanMessage(question), AIMessage(said[-1].text)])
        print(f"{known} messages of this thread were known, now there are {len(said)}")
        for message in history.messages:
            print(f"{message.type}: {message.text}")


with served(Settings.from_env()) as settings:
    searching = AIMessage("", tool_calls=[SEARCH])
    ask(settings, "How did sailors find their longitude at sea?", searching, CLOCKS)
    ask(settings, "And before such clocks?", AIMessage("By the moon's place."))
