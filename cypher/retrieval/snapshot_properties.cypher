// purpose: documents with all that filters can ask of them
// params: ids
// since: 5.26
UNWIND $ids AS id
MATCH (d:Document {id: id})
USING INDEX SEEK d:Document(id)
RETURN
  d.id AS id,
  d {.*, themeEmbedding: null} AS properties,
  COLLECT {
    MATCH (d)-[h:HAS_THEME]->(t:Theme)
    RETURN t.name
    ORDER BY h.rank, t.name
  } AS themes,
  COLLECT {
    MATCH (d)-[:IN_CATEGORY]->(t:Category)
    RETURN t.name
    ORDER BY t.name
  } AS categories
