// purpose: keep the right to write to a corpus; no row where it was lost
// params: name, token, milliseconds
// since: 5.26
MATCH (l:SchemaVersion {id: 'writing ' + $name})
SET l.asked = timestamp()
WITH l WHERE l.token = $token
SET l.until = timestamp() + $milliseconds
RETURN l.until AS until
