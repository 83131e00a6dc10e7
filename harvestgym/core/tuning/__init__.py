"""Rules with named numbers, and the comparison of many candidates in one batch."""
