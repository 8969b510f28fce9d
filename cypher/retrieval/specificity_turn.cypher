// purpose: store a turn of a conversation behind the turn before it
// params: conversation, now, turn, previous
// since: 5.26
MERGE (k:Conversation {id: $conversation})
  ON CREATE SET k.createdAt = $now
SET k.updatedAt = $now
MERGE (t:Turn {id: $turn.id})
SET t = $turn
MERGE (k)-[:HAS_TURN]->(t)
WITH k, t
OPTIONAL MATCH (k)-[:HAS_TURN]->(p:Turn {id: $previous})
FOREACH (before IN CASE WHEN p IS NULL THEN [] ELSE [p] END |
  MERGE (before)-[:NEXT_TURN]->(t)
)
