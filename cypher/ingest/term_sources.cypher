// purpose: title, text and chunks of documents
// params: ids
// since: 5.26
UNWIND $ids AS id
MATCH (d:Document {id: id})
USING INDEX SEEK d:Document(id)
CALL (d) {
  MATCH (d)<-[:FROM_DOCUMENT]-(c:Chunk)
  WITH c
  ORDER BY c.index
  RETURN collect(c.id) AS chunks, collect(c.startChar) AS starts, collect(c.endChar) AS ends
}
RETURN d.id AS id, d.title AS title, d.text AS text, chunks, starts, ends
