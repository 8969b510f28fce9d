// purpose: delete a new corpus that an ingest left without any document or redirect
// params: name
// since: 5.26
MATCH (k:Corpus {name: $name})
WHERE k.version = 1 AND k.status = 'unfinished'
  AND NOT EXISTS { (k)<-[:IN_CORPUS]-() }
  AND NOT EXISTS { (:Redirect {corpus: $name}) }
DETACH DELETE k
