// purpose: which properties of nodes and relationships are, or have, one of some values
// params: values
// since: 5.26
MATCH (n)
UNWIND keys(n) AS k
WITH n, k
WHERE any(x IN [] + n[k] WHERE x IN $values)
RETURN DISTINCT k
UNION
MATCH ()-[r]->()
UNWIND keys(r) AS k
WITH r, k
WHERE any(x IN [] + r[k] WHERE x IN $values)
RETURN DISTINCT k
