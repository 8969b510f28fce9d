// purpose: whether the graph has a custodian
// params:
// since: 5.26
RETURN EXISTS { (:Custodian) } AS custodians
