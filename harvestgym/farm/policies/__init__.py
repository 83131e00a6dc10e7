"""Policies that know a farm: experts written as rules."""
