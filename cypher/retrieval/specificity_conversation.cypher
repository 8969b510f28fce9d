// purpose: the last turns of a conversation, the latest first
// params: conversation, limit
// since: 5.26
MATCH (:Conversation {id: $conversation})-[:HAS_TURN]->(t:Turn)
RETURN properties(t) AS turn
ORDER BY t.index DESC, t.createdAt DESC, t.id
LIMIT $limit
