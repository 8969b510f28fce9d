// purpose: sub-questions, findings, claims and verdicts that no research has
// params: corpus
// since: 5.26
MATCH (n:SubQuestion|Finding|Claim|Verdict {corpus: $corpus})
WHERE NOT EXISTS { (n)<-[:ASKS|FOUND|CLAIMS|HAS_VERDICT]-() }
RETURN count(n) AS count, collect(n.id)[..5] AS examples
