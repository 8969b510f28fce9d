// purpose: whether institutions are stored at all, and of a corpus unless it is null
// params: corpus
// since: 5.26
WITH EXISTS { (:Custodian) } AS stored
RETURN
  stored,
  CASE
    WHEN $corpus IS NULL THEN stored
    ELSE EXISTS { MATCH (:Custodian {corpus: $corpus}) }
  END AS found
