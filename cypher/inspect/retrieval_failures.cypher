// @title: Why a question failed
// purpose: gold passages that a measured system did not find, with its walk and what kept it from them; a question is named by its id or its text
// params: question, system, run, limit
// since: 5.26
MATCH (r:EvalRun {kind: 'retrieval', status: 'complete'})-[:HAS_RECORD]->(e:EvalRecord)
WHERE ($system IS NULL OR r.system = $system)
  AND ($run IS NULL OR r.id = $run)
  AND ($question IS NULL OR e.recordId = $question OR e.question = $question)
  AND size(e.missed) > 0
WITH r, e
ORDER BY r.createdAt DESC, size(e.missed) DESC, e.recordId, r.system
LIMIT coalesce($limit, 25)
OPTIONAL MATCH (e)-[:JUDGES]->(t:Traversal)
WITH r, e, head(collect(t)) AS t
OPTIONAL MATCH (t)-[:FIRST_STEP]->(:Step)-[:NEXT_STEP]->*(s:Step)
WITH r, e, t, s
ORDER BY s.index
WITH r, e, t, collect(s.title) AS path, collect(s) AS steps
UNWIND range(0, size(e.missed) - 1) AS place
OPTIONAL MATCH (d:Document {id: e.missedDocuments[place]})
WITH
  r, e, t, path, place, d,
  COUNT {
    UNWIND steps AS s
    MATCH (s)-[:VISITED]->(:Chunk)-[:SIMILAR_TO]->(:Chunk)-[:FROM_DOCUMENT]->(d)
  } AS similar,
  COUNT {
    UNWIND steps AS s
    MATCH (s)-[:VISITED]->(:Chunk)-[:NAMES]->(:Term)<-[:NAMES]-(:Chunk)-[:FROM_DOCUMENT]->(d)
  } AS named
RETURN
  e.recordId AS id,
  e.missed[place] AS missed,
  CASE
    WHEN d IS NULL THEN 'the passage is not in the corpus'
    WHEN t IS NULL THEN 'a ranking without a walk'
    WHEN similar > 0 THEN 'one SIMILAR_TO edge from a step, and not taken'
    WHEN named > 0 THEN 'a name is shared with a step, and not followed'
    ELSE 'no edge or name leads to it from any step'
  END AS why,
  t.id AS traversal,
  r.system AS system,
  e.question AS question,
  e.stopReason AS stopReason,
  path,
  e.found AS found,
  r.id AS run
ORDER BY id, system, missed, run
