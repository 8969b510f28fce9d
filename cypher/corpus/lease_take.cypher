// purpose: take the right to write to a corpus, unless another home has it
// params: name, home, owner, token, milliseconds
// since: 5.26
MERGE (l:SchemaVersion {id: 'writing ' + $name})
SET l.asked = timestamp()
WITH l, coalesce(l.home, $home) = $home OR l.until < timestamp() AS free
FOREACH (_ IN CASE WHEN free THEN [1] ELSE [] END |
  SET l.home = $home, l.owner = $owner, l.token = $token,
    l.until = timestamp() + $milliseconds
)
RETURN free, l.owner AS owner, l.until - timestamp() AS left
