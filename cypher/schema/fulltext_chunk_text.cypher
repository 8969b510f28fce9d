// purpose: words of chunks
// params: 
// since: 5.26
CREATE FULLTEXT INDEX chunk_text IF NOT EXISTS
FOR (c:Chunk)
ON EACH [c.text]
