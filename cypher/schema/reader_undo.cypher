// purpose: remove a user who could not be made a reader
// params: name
// since: 5.26
DROP USER $name IF EXISTS
