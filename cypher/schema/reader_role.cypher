// purpose: the role of users that only read (Enterprise, Aura; on the system database)
// params: role
// since: 5.26
CREATE ROLE $role IF NOT EXISTS
