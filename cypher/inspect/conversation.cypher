// @title: The turns of a conversation
// purpose: what was asked, what it was taken for and what was answered, a turn a row; without a conversation the latest
// params: conversation
// since: 5.26
MATCH (k:Conversation)
WHERE $conversation IS NULL OR k.id = $conversation
WITH k
ORDER BY k.updatedAt DESC, k.id
LIMIT 1
MATCH (k)-[:HAS_TURN]->(t:Turn)
RETURN
  t.index AS turn,
  t.question AS question,
  t.resolved AS resolved,
  t.status AS status,
  t.templateId AS template,
  round(t.confidence, 3) AS confidence,
  t.slots AS slots,
  t.rows AS rows,
  t.answer AS answer
ORDER BY turn
