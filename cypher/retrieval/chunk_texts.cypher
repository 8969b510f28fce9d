// purpose: chunks with their documents, without vectors
// params: ids
// since: 5.26
UNWIND $ids AS id
MATCH (c:Chunk {id: id})
USING INDEX SEEK c:Chunk(id)
MATCH (c)-[:FROM_DOCUMENT]->(d:Document)
RETURN
  c.id AS id,
  c.text AS text,
  c.index AS index,
  c.firstSentence AS first_sentence,
  c.lastSentence AS last_sentence,
  c.startChar AS start_char,
  c.endChar AS end_char,
  d.id AS document_id,
  d.title AS title,
  d.url AS url,
  coalesce(d.source, '') AS source
