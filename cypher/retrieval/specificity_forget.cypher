// purpose: delete a conversation with its turns
// params: conversation
// since: 5.26
MATCH (k:Conversation {id: $conversation})
OPTIONAL MATCH (k)-[:HAS_TURN]->(t:Turn)
DETACH DELETE t, k
