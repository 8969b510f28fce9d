// purpose: set the password of the managed server's user (on the system database)
// params: password
// since: 5.26
ALTER USER neo4j SET PASSWORD $password CHANGE NOT REQUIRED
