// purpose: a Custodian is found by its id
// params:
// since: 5.26
CREATE CONSTRAINT custodian_id IF NOT EXISTS
FOR (n:Custodian)
REQUIRE n.id IS UNIQUE
