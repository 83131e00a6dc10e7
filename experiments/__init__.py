"""Programs that make published numbers. They run from a clone and are not part of the package."""
