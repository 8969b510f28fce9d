// purpose: some documents that lost a neighbour by themes and have their edges again
// params: corpus
// since: 5.26
MATCH (d:Document {corpus: $corpus})
WHERE d.themeLost IS NOT NULL
WITH d
LIMIT 20000
REMOVE d.themeLost
