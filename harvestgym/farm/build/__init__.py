"""Building a `FarmModel` from a farm file or Python objects: names, components and compilation."""
