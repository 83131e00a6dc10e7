"""From a farm file or Python objects to a `FarmModel`: names, components, compilation."""
