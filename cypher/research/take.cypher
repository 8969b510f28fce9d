// purpose: give research that has not ended to another owner, or mark it as left, where it still has the owner that it is known by; writing the node first locks it
// params: run, owner, corpus, changes
// since: 5.26
MATCH (r:Research {id: $run})
SET r.corpus = $corpus
WITH r
WHERE r.owner = $owner AND r.status <> 'complete'
SET r += $changes
