// purpose: a document with its themes, categories and nearest documents
// params: title
// since: 5.26
MATCH (d:Document {title: $title})
CALL (d) {
  MATCH around = (d)-[:HAS_THEME|IN_CATEGORY]->()
  RETURN around
  UNION ALL
  MATCH around = (d)-[:THEME_SIMILAR_TO]-(:Document)
  RETURN around
  UNION ALL
  MATCH around = (d)-[:LINKS_TO]-(:Document)
  RETURN around
  LIMIT 300
  UNION ALL
  MATCH around = (d)
  RETURN around
}
RETURN around
LIMIT 500
