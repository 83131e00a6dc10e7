"""Policies written for a particular farm: experts in the form of rules."""
