"""Seventy heritage institutions that do not exist, one a line of custodians.jsonl.

The cities, regions and countries are real; every institution, code and figure in them
is invented, so that identifiers, founding dates and budgets can be tested without
saying anything of a real house. LICENSE.txt says what may be done with them.
addresses.toml has the words by which type, town and country are guessed,
institutions.toml the types of institutions and the columns of their files.
"""
