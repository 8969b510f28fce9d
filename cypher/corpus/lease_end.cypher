// purpose: give back the right to write to a corpus
// params: name, token
// since: 5.26
MATCH (l:SchemaVersion {id: 'writing ' + $name})
SET l.asked = timestamp()
WITH l WHERE l.token = $token
DELETE l
