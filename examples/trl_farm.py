"""Train a language model on a text task with TRL: the environment's methods are the model's tools.

    pip install . 'trl>=1.16' 'transformers>=5.2' jmespath    # in a separate environment
    python examples/trl_farm.py Qwen/Qwen3-0.6B --id farm/corn-1x1-v0

The reward of a season is 0 for doing nothing and 1 for the best known policy. Training uses the training split; report
results on the test split, for example with `inspect_farm.py`.
"""

import argparse
from typing import Any

from datasets import Dataset
from trl import GRPOConfig, GRPOTrainer

from harvestgym.text import TASKS

PROMPT = "Play this game to its end with the tools. Use wait when there is nothing to do.\n\n"
TASK = {task.id: task for task in TASKS}


class FarmEnv:
    """A season of a task, for `GRPOTrainer(environment_factory=FarmEnv)`."""

    def reset(self, id: str, season: int, **columns: Any) -> str:
        """Start a season of the training split; return the rules and the first observation."""
        self._task = TASK[id]
        self._game = self._task.start(season, split="train")
        return self._game.reset(self._game.session.seed)

    def order(self, orders: str) -> str:
        """Queue orders for today. The rules list them; a mistake changes nothing.

        Args:
            orders: Orders, one a line.

        Returns:
            The queued orders, or what was not understood.
        """
        return self._game.step(str(orders)).text

    def done(self) -> str:
        """End the day or year, and carry out the orders.

        Returns:
            The news and the next observation.
        """
        return self._game.step("done").text

    def wait(self, steps: int, until: str = "") -> str:
        """Let days or years pass.

        Args:
            steps: The most days or years to wait.
            until: Conditions that end the wait, such as `water < 100 or any news`.

        Returns:
            The news and the next observation.
        """
        return self._game.step(f"wait {steps}" + f" until {until}" * bool(until)).text

    def look(self) -> str:
        """Show every known number; no time passes.

        Returns:
            The numbers.
        """
        return self._game.step("look").text

    def get_reward(self) -> float:
        """Return the score; what is left of the season passes without new orders."""
        while not self._game.session.over:
            self._game.step(f"clear\nwait 400 {self._game.view.unit}s")
        return self._task.scale(self._game.session.total) or 0.0


def make_trainer(model: Any, id: str, seasons: int = 1000, **settings: Any) -> GRPOTrainer:
    """Make the trainer; the rollouts of a group play the same season."""
    prompt = [{"role": "user", "content": PROMPT}]
    rows = [{"prompt": prompt, "id": id, "season": season} for season in range(seasons)]
    return GRPOTrainer(
        model, args=GRPOConfig(**settings), train_dataset=Dataset.from_list(rows), environment_factory=FarmEnv
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="a model of the Hugging Face hub that can call tools, or a folder")
    parser.add_argument("--id", default="farm/corn-1x1-v0", choices=list(TASK))
    parser.add_argument("--steps", type=int, default=500)
    given = parser.parse_args()
    make_trainer(
        given.model, given.id, max_steps=given.steps, num_generations=8, max_completion_length=8192,
        chat_template_kwargs={"enable_thinking": False},
    ).train()  # fmt: skip
