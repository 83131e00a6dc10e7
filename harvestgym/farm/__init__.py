"""Farms: fields, farmers, rules and scores over entities that live together."""
