"""Rules with named numbers, which `harvestgym tune` searches."""
