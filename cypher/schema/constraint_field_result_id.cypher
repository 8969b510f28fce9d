// purpose: a FieldResult is found by its id
// params:
// since: 5.26
CREATE CONSTRAINT field_result_id IF NOT EXISTS
FOR (n:FieldResult)
REQUIRE n.id IS UNIQUE
