"""Weather readers: tables of daily observations and monthly normals."""
