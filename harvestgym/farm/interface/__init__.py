"""Farm interfaces for people and learners: `Farm`, the action language, wrappers."""
