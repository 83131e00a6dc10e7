"""Small folders in Farm-Gym's formats, written for these tests."""

from __future__ import annotations

from pathlib import Path

FARM = """
Farm:
  Field-0:
    localization: {latitude#°: 44, longitude#°: 5, altitude#m: 200}
    shape: {length#nb: 2, width#nb: 1, scale#m: 1.0}
    entities:
      - Weather: lille3
      - Soil: clay
      - Plant: bean
      - Cide: pesticide
  Farmer-0:
    type: basic
    parameters: {max_daily_interventions: 2, max_daily_observations: 3}
day_path: {"field": "Field-0", "entity": "Weather-0", "variable": "day#int365"}
author: me
actions: actions.yaml
score: score.yaml
initialization: init.yaml
interaction_mode: POMDP
"""

INIT = """
Initial:
  Field-0:
    Weather-0:
      year#int100: 2
      day#int365: 99
      air_temperature: {max#°C: 22.0}
    Soil-0:
      available_Water#L: [100.0, 150.0]
      depth#m: 1.0
      amount_cide#g: {pests: 0.0, weeds: 0.0}
    Plant-0:
      stage: entered_grow
      population#nb: 1.0
Terminal:
  [
    [{state_variable: ["Field-0", "Weather-0", "day#int365", []], function: "value", operator: ">=", ref_value: 300}],
    [{state_variable: ["Field-0", "Plant-0", "global_stage", []], function: "value", operator: "in",
      ref_value: ["harvested", "entered_ripe"]},
     {state_variable: ["Field-0", "Plant-0", "harvest_weight#kg", []], function: "value", operator: ">", ref_value: 1}],
    [{state_variable: ["Field-0", "Plant-0", "stage", []], function: "value", operator: "==", ref_value: "dead"}],
    [{state_variable: ["Field-0", "Birds-0", "population#nb", []], function: "value", operator: ">=", ref_value: 9}],
    [{state_variable: ["Field-0", "Plant-0", "size#cm", []], function: "mean", operator: ">=", ref_value: 40}],
  ]
"""

ACTIONS = """
params:
  max_action_schedule_size: 2
  number_of_bins_to_discretize_continuous_actions: 11
observations:
  Free:
    Field-0:
      Weather-0:
        day#int365:
        clouds#%:
        rain_amount#mm.day-1:
        forecast:
          humidity#%: ['*', 0, 1]
          clouds#%: ['*', 0, 1]
      Plant-0:
        stage: ['*', '(1, 0)']
  BasicFarmer-0:
    Field-0:
      Soil-0:
        available_Water#L: ['*', '(0, 0)']
        amount_cide#g:
          '*':
          pests: ['*', '(0, 0)']
          weeds: ['*', '(0, 0)']
      Bees-0:
        occurrence#bin:
  Nobody-0:
interventions:
  BasicFarmer-0:
    Field-0:
      Soil-0:
        water_discrete:
          plot: ['(0, 0)', '(1, 0)']
          amount#L: [0.0, 6.0, 12.0]
      Plant-0:
        harvest:
        prune: {plot: ['(0, 0)']}
      Cide-0:
        scatter:
          plot: ['(1, 0)']
          amount#kg: (0, 10)
"""

SCORE = """
observation-cost:
  Field-0:
    Weather-0: {day#int365: 1, clouds#%: 2, wind: 1, year#century: 1}
intervention-cost:
  Field-0:
    Soil-0: {water_discrete: 5}
    Plant-0: {harvest: 1, prune: 1}
reward-mix:
  weight_biodiversitycounts: 0.5
  weight_harvest: 0.
  weight_stagetransition: 3.
final-reward-mix:
  weight_resourceadded: 1.
  weight_soilmicrolife: 0.
  weight_harvest: 1.
"""

SIDE_FILES = {"init": INIT, "actions": ACTIONS, "score": SCORE}


def write_folder(folder: Path, farm: str = FARM, **side_files: str) -> Path:
    """Write a farm file and side files, by the ending of their names; return the path of the farm file."""
    folder.mkdir(exist_ok=True)
    for name, text in {"plain": farm, **side_files}.items():
        file = folder / ("plain.yaml" if name == "plain" else f"plain_{name}.yaml")
        file.write_text(text, encoding="utf-8")
    return folder / "plain.yaml"
