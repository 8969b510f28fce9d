// purpose: how many institutions each corpus has, those without documents too
// params:
// since: 5.26
MATCH (c:Custodian)
RETURN c.corpus AS name, count(*) AS custodians
ORDER BY name
