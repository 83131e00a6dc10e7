"""Reference points and dynamic programming for fisheries."""
