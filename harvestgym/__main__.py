"""`python -m harvestgym`: the command line."""

from harvestgym.cli import app

app(prog_name="harvestgym")
