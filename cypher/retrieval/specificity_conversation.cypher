// purpose: the last turns of a conversation, the latest first
// params: conversation, limit
// since: 5.26
MATCH (:Conversation {id: $conversation})-[:HAS_TURN]->(t:Turn)
RETURN t.question AS question, t.resolved AS resolved, t.language AS language,
  t.templateId AS template_id, coalesce(t.slots, '{}') AS slots,
  coalesce(t.keptClasses, []) AS classes, coalesce(t.names, []) AS names,
  t.answer AS answer
ORDER BY t.index DESC, t.createdAt DESC, t.id
LIMIT $limit
