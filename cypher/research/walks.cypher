// purpose: the steps of the walks of research, by sub-question
// params: research
// since: 5.26
MATCH (:Research {id: $research})-[:ASKS]->(q:SubQuestion)-[:WALKED]->(t:Traversal)
RETURN
  q.id AS question,
  COLLECT {
    MATCH (t)-[:FIRST_STEP]->(:Step)-[:NEXT_STEP]->*(s:Step)
    WITH s
    ORDER BY s.index
    RETURN {index: s.index, document: s.documentId, title: coalesce(s.title, ''), hop: s.hop}
  } AS steps
