"""A recorded forager as pictures, tables and a timeline."""
