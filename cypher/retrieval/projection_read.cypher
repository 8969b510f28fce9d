// purpose: the version of a corpus, with its main axes where they were kept for it
// params: corpus
// since: 5.26
MATCH (k:Corpus {name: $corpus})
RETURN
  k.version AS version,
  k.chunks AS chunks,
  coalesce(k.status, 'complete') AS status,
  toString(k.createdAt) AS stamp,
  CASE WHEN k.axesVersion = k.version THEN k.axes END AS axes
