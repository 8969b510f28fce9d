// purpose: delete some institutions of a corpus
// params: name, limit
// since: 5.26
MATCH (c:Custodian {corpus: $name})
WITH c
LIMIT $limit
DETACH DELETE c
