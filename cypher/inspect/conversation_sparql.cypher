// @title: The SPARQL of a conversation
// purpose: the queries that ran for each turn, with what their variables were bound to; without a conversation the latest
// params: conversation
// since: 5.26
MATCH (k:Conversation)
WHERE $conversation IS NULL OR k.id = $conversation
WITH k
ORDER BY k.updatedAt DESC, k.id
LIMIT 1
MATCH (k)-[:HAS_TURN]->(t:Turn)
UNWIND range(0, size(t.sparql) - 1) AS i
RETURN
  t.index AS turn,
  t.templateId AS template,
  t.bindings[i] AS bindings,
  t.sparql[i] AS sparql
ORDER BY turn, i
