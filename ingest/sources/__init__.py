"""Where documents come from: dumps, live Wikipedia, JSON lines, files, LangChain."""
