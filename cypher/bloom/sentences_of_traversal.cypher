// purpose: the sentences that a recorded walk picked
// params: traversal
// since: 5.26
MATCH walked = (:Traversal {id: $traversal})-[:FIRST_STEP]->(:Step)-[:NEXT_STEP]->*(s:Step)
OPTIONAL MATCH picked = (s)-[:PICKED]->(:Sentence)
RETURN walked, picked
