// purpose: store how far research has come, with those of its questions, findings and claims that are given, without the questions that are dropped; nothing where another owner has taken it; writing the node first locks it
// params: corpus, run, questions, dropped, findings, claims
// since: 5.26
MATCH (k:Corpus {name: $corpus})
WHERE coalesce(k.status, '') <> 'deleting'
MERGE (r:Research {id: $run.id})
  ON CREATE SET r.owner = $run.owner
SET r.corpus = $corpus
WITH r
WHERE r.owner = $run.owner
SET r += $run
WITH r
CALL (r) {
  UNWIND $dropped AS id
  MATCH (r)-[:ASKS]->(q:SubQuestion {id: id})
  DETACH DELETE q
}
CALL (r) {
  UNWIND $questions AS row
  MERGE (q:SubQuestion {id: row.id})
  SET q = row, q.corpus = $corpus
  MERGE (r)-[:ASKS]->(q)
}
CALL () {
  UNWIND $questions AS row
  MATCH (p:SubQuestion {id: row.parent})
  MATCH (q:SubQuestion {id: row.id})
  MERGE (p)-[:LED_TO]->(q)
}
CALL () {
  UNWIND $questions AS row
  MATCH (t:Traversal {id: row.traversal})
  MATCH (q:SubQuestion {id: row.id})
  MERGE (q)-[:WALKED]->(t)
}
CALL () {
  UNWIND $findings AS row
  MATCH (q:SubQuestion {id: row.question})
  MERGE (f:Finding {id: row.id})
  SET f = row, f.corpus = $corpus
  MERGE (q)-[:FOUND]->(f)
  WITH f, row
  UNWIND row.sentences AS id
  MATCH (s:Sentence {id: id})
  USING INDEX SEEK s:Sentence(id)
  MERGE (f)-[:SUPPORTED_BY]->(s)
}
CALL (r) {
  UNWIND $claims AS row
  MERGE (c:Claim {id: row.id})
  SET c.text = row.text, c.place = row.place, c.findings = row.findings,
    c.corpus = $corpus
  MERGE (r)-[:CLAIMS]->(c)
  WITH c, row
  UNWIND row.findings AS id
  MATCH (f:Finding {id: id})
  MERGE (c)-[:DRAWN_FROM]->(f)
}
CALL () {
  UNWIND $claims AS row
  WITH row
  WHERE row.verdict IS NOT NULL
  MATCH (c:Claim {id: row.id})
  MERGE (v:Verdict {id: row.verdict.id})
  SET v = row.verdict, v.corpus = $corpus
  MERGE (c)-[:HAS_VERDICT]->(v)
}
