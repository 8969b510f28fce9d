// purpose: for each sentence the first chunk of its document that holds it
// params: ids
// since: 5.26
UNWIND $ids AS id
MATCH (s:Sentence {id: id})
USING INDEX SEEK s:Sentence(id)
WITH
  id,
  COLLECT {
    MATCH (s)<-[:HAS_SENTENCE]-(c:Chunk)
    RETURN [id, c.id, c.embedding /* vector */]
    ORDER BY c.index, c.id
    LIMIT 1
  } AS home
UNWIND home AS row
RETURN collect(row) AS homes
