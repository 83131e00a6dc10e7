"""The training of agents on the core suite: their learners, the runs by key, and the stored results."""
