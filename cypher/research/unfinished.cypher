// purpose: the latest research of a question, where it did not come to its end, with all it has so far and whether it still goes on
// params: corpus, question, model, corpusVersion, quietSince
// since: 5.26
MATCH (r:Research {corpus: $corpus})
WHERE r.question = $question
  AND coalesce(r.model, '') = coalesce($model, '')
  AND r.corpusVersion = $corpusVersion
WITH r
ORDER BY r.createdAt DESC, r.id
LIMIT 1
WHERE r.status <> 'complete'
RETURN
  r {.*} AS run,
  r.status = 'running' AND r.updatedAt > $quietSince AS goesOn,
  COLLECT {
    MATCH (r)-[:ASKS]->(q:SubQuestion)
    RETURN q {
      .id,
      .place,
      .text,
      .reason,
      .parent,
      .depth,
      .walked,
      .noted,
      .traversal,
      .chunks
    }
    ORDER BY q.place
  } AS questions,
  COLLECT {
    MATCH (r)-[:ASKS]->(q:SubQuestion)-[:FOUND]->(f:Finding)
    RETURN f {.id, .place, .question, .text, .sentences, .score}
    ORDER BY f.place
  } AS findings,
  COLLECT {
    MATCH (r)-[:CLAIMS]->(c:Claim)
    OPTIONAL MATCH (c)-[:HAS_VERDICT]->(v:Verdict)
    RETURN c {.id, .place, .text, .findings, verdict: v {.id, .verdict, .by, .score}}
    ORDER BY c.place
  } AS claims
