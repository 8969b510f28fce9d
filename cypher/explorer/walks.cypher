// purpose: recorded walks by their ids, in the order of these, as compare has them
// params: ids
// since: 5.26
UNWIND range(0, size($ids) - 1) AS place
MATCH (t:Traversal {id: $ids[place]})
RETURN
  t.algorithm AS algorithm,
  t.sentences AS sentences,
  t.documents AS documents,
  t.hops AS hops,
  t.stopReason AS stopReason,
  t.milliseconds AS milliseconds,
  t.id AS traversalId
ORDER BY place
