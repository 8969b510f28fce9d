// purpose: delete some of our nodes
// params: labels, limit
// since: 5.26
MATCH (n:$any($labels))
WITH n
LIMIT $limit
DETACH DELETE n
RETURN count(*) AS deleted
