"""Weather readers: tables of daily observations, GHCN-Daily stations and monthly normals."""
