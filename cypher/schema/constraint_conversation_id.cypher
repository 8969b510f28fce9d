// purpose: a Conversation is found by its id
// params:
// since: 5.26
CREATE CONSTRAINT conversation_id IF NOT EXISTS
FOR (n:Conversation)
REQUIRE n.id IS UNIQUE
