"""Commands that ask, walk, serve and draw."""
