"""Rerankers, and the files of queries and documents that they are measured on."""
