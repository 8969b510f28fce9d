// purpose: delete relationships, by identity
// params: identities
// since: 5.26
UNWIND $identities AS identity
MATCH ()-[r]->()
WHERE elementId(r) = identity
DELETE r
