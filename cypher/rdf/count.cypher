// purpose: how many nodes there are to write, and how many of them have a label that is mapped
// params: corpus, labels
// since: 5.26
MATCH (n)
WHERE $corpus IS NULL OR n.corpus = $corpus OR n:Corpus AND n.name = $corpus
RETURN count(CASE WHEN NOT n:SchemaVersion|_NsPrefDef THEN 1 END) AS all,
       count(CASE WHEN any(l IN labels(n) WHERE l IN $labels) THEN 1 END) AS mapped
