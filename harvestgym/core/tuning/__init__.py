"""Rules with named numbers, which `harvestgym tune` optimises."""
