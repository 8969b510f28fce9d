// purpose: how many documents with a theme vector a corpus has
// params: corpus
// since: 5.26
RETURN COUNT { MATCH (d:Document {corpus: $corpus}) WHERE d.themeEmbedding IS NOT NULL } AS vectors
