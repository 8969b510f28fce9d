// purpose: documents of a corpus with their links, nearest documents and themes, as 1,000 paths and one more where there are more
// params: corpus
// since: 5.26
MATCH p = (d:Document {corpus: $corpus})-[:LINKS_TO|THEME_SIMILAR_TO|HAS_THEME]->()
RETURN p
ORDER BY d.id
LIMIT 1001
