// purpose: text and links of documents, and where their chunks are
// params: ids
// since: 5.26
UNWIND $ids AS id
MATCH (d:Document {id: id})
USING INDEX SEEK d:Document(id)
CALL (d) {
  MATCH (d)<-[:FROM_DOCUMENT]-(c:Chunk)
  WITH c
  ORDER BY c.index
  RETURN collect(c.startChar) AS chunkStarts, collect(c.endChar) AS chunkEnds
}
RETURN d.id AS id, d.text AS text, d.linkTargets AS targets, chunkStarts, chunkEnds
