// purpose: whether institutions of a corpus are stored
// params: name
// since: 5.26
RETURN EXISTS { MATCH (:Custodian {corpus: $name}) } AS found
