// purpose: mark a corpus as unfinished whose terms were found by other rules, or never
// params: name, rules
// since: 5.26
MATCH (k:Corpus {name: $name})
WHERE k.termRules IS NULL OR k.termRules <> $rules
SET k.termRules = $rules
WITH k
WHERE k.terms
SET k.version = k.version + CASE WHEN k.status = 'complete' THEN 1 ELSE 0 END,
    k.status = 'unfinished'
