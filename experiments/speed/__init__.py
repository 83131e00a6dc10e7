"""Programs that measure speed, memory and compilation; `experiments/README.md` lists their commands."""
