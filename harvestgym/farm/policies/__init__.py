"""Policies written for a particular farm: experts that consist of rules."""
