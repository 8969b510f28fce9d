// purpose: store a turn as the last of its conversation; writing the conversation first locks it, so that turns that come at once queue up
// params: conversation, now, turn
// since: 5.26
MERGE (k:Conversation {id: $conversation})
  ON CREATE SET k.createdAt = $now
SET k.updatedAt = $now
WITH k
OPTIONAL MATCH (k)-[:HAS_TURN]->(p:Turn)
WHERE p.id <> $turn.id
WITH k, p
ORDER BY p.index DESC, p.createdAt DESC, p.id
LIMIT 1
MERGE (t:Turn {id: $turn.id})
SET t = $turn, t.index = coalesce(p.index + 1, 0)
MERGE (k)-[:HAS_TURN]->(t)
FOREACH (before IN CASE WHEN p IS NULL THEN [] ELSE [p] END |
  MERGE (before)-[:NEXT_TURN]->(t)
)
