// purpose: embedders of the stored corpora
// params: 
// since: 5.26
MATCH (k:Corpus)
WHERE k.embedder IS NOT NULL
RETURN k.name AS corpus, k.embedder AS embedder, k.dimensions AS dimensions
ORDER BY corpus
