"""Code that several studies share: trials, findings and reference models."""
