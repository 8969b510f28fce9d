// purpose: delete some of what research over a corpus asked, found and claimed
// params: name, limit
// since: 5.26
MATCH (n:Research|SubQuestion|Finding|Claim|Verdict {corpus: $name})
WITH n
LIMIT $limit
DETACH DELETE n
