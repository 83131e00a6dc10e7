"""Pictures, tables and a timeline of a recorded forager."""
