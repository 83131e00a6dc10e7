"""Programs that measure speed, memory and compilation; `experiments/steps.yaml` lists their commands."""
