// purpose: a document as a node, with what it is about
// params: document
// since: 5.26
MATCH (d:Document {id: $document})
RETURN
  d,
  d.id AS id,
  d.title AS title,
  d.corpus AS corpus,
  d.url AS url,
  d.language AS language,
  coalesce(d.aliases, []) AS aliases,
  COLLECT {
    MATCH (d)-[r:HAS_THEME]->(t:Theme)
    RETURN t.name
    ORDER BY r.rank, t.name
  } AS themes,
  COLLECT {
    MATCH (d)-[:IN_CATEGORY]->(c:Category)
    RETURN c.name
    ORDER BY c.name
  } AS categories
