"""A recorded farm as pictures, tables and a timeline."""
