"""Every Cypher statement that Knowtrail runs, and saved queries for people."""
