"""Farm interfaces for learners: maps, jobs, action wrappers and shared water."""
