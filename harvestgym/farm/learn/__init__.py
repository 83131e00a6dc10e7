"""Interfaces of a farm for learners: maps, jobs, action wrappers, several farms."""
