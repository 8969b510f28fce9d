// purpose: a document with its themes, categories and nearest documents
// params: title
// since: 5.26
MATCH (d:Document {title: $title})
OPTIONAL MATCH described = (d)-[:HAS_THEME|IN_CATEGORY]->()
OPTIONAL MATCH near = (d)-[:THEME_SIMILAR_TO|LINKS_TO]-(:Document)
RETURN d, described, near
LIMIT 500
