"""A recorded fishery as pictures, tables and a timeline."""
