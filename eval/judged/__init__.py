"""Answers, and what a language model thinks of them."""
