// purpose: how many chunks a corpus has, which tells how rare its terms are
// params: name, chunks
// since: 5.26
MATCH (k:Corpus {name: $name})
WHERE k.chunks IS NULL OR k.chunks <> $chunks
SET k.chunks = $chunks
