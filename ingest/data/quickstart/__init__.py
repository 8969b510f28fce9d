"""Articles on navigation and timekeeping, and questions about them.

`articles.jsonl` holds one article a line (offsets count characters of its text);
`questions.jsonl` one question a line, with gold sentences quoted from the articles.
"""
