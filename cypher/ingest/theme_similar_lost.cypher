// purpose: documents that lost a neighbour by themes, and the least score among their neighbours before
// params: corpus
// since: 5.26
MATCH (d:Document {corpus: $corpus})
WHERE d.themeLost IS NOT NULL
RETURN d.id AS id, d.themeLost AS lost
