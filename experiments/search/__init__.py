"""A search for the best policy of an id among several forms of rule and small networks."""
