// purpose: some institutions of a corpus, by id
// params: corpus, after, limit
// since: 5.26
MATCH (c:Custodian)
WHERE c.id > $after AND c.corpus = $corpus
RETURN c.id AS id, c.className AS className, c.source AS source
ORDER BY id
LIMIT $limit
