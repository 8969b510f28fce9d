// purpose: a Metric is found by its id
// params:
// since: 5.26
CREATE CONSTRAINT metric_id IF NOT EXISTS
FOR (n:Metric)
REQUIRE n.id IS UNIQUE
