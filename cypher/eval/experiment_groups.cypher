// purpose: groups of an experiment in which the turns of conversations were answered
// params: sessions
// since: 5.26
UNWIND $sessions AS session
MATCH (:Conversation {id: session})-[:HAS_TURN]->(t:Turn)
WHERE t.experimentGroup IS NOT NULL
WITH session, collect(DISTINCT t.experimentGroup) AS groups
RETURN session, groups
ORDER BY session
