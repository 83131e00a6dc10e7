"""Reference points and dynamic programming of fisheries."""
