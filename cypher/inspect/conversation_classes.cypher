// @title: The classes of a conversation
// purpose: classes kept and dropped for each turn, with their scores; without a conversation the latest
// params: conversation
// since: 5.26
MATCH (k:Conversation)
WHERE $conversation IS NULL OR k.id = $conversation
WITH k
ORDER BY k.updatedAt DESC, k.id
LIMIT 1
MATCH (k)-[:HAS_TURN]->(t:Turn)
CALL (t) {
  UNWIND range(0, size(t.keptClasses) - 1) AS i
  RETURN t.keptClasses[i] AS class, t.keptScores[i] AS score, true AS kept
  UNION ALL
  WITH t
  UNWIND range(0, size(t.droppedClasses) - 1) AS i
  RETURN t.droppedClasses[i] AS class, t.droppedScores[i] AS score, false AS kept
}
RETURN
  t.index AS turn,
  t.contextTemplate AS context,
  class,
  round(score, 3) AS score,
  kept
ORDER BY turn, score DESC, class
