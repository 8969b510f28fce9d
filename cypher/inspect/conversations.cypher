// @title: Conversations
// purpose: conversations with their first question, the latest first
// params: limit
// since: 5.26
MATCH (k:Conversation)-[:HAS_TURN]->(t:Turn)
WITH k, t
ORDER BY t.index
WITH k, collect(t) AS turns
RETURN
  k.id AS conversation,
  turns[0].question AS first,
  turns[-1].answer AS answer,
  size(turns) AS turns,
  k.updatedAt AS time
ORDER BY time DESC, conversation
LIMIT coalesce($limit, 25)
