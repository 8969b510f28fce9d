// purpose: a user with a password
// params: name, password
// since: 5.26
CREATE USER $name SET PASSWORD $password CHANGE NOT REQUIRED
