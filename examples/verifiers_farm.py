"""Evaluate or train a language model on the text tasks with verifiers.

    pip install . 'verifiers>=0.4'    # in a separate environment
    PYTHONPATH=examples vf-eval verifiers_farm --model MODEL --client.base-url http://127.0.0.1:8000/v1 --no-push \\
        --env.taskset.game farm/corn-1x1-v0 --env.taskset.seasons 5

A task is a season, with the reward 0 for doing nothing and 1 for the best known policy. Train on the split `train`,
and report on `test`. The taskset `openenv` of verifiers also plays `harvestgym serve openenv`; this file needs no
server, and its player reads the text alone, without a JSON schema in each message.
"""

from collections.abc import Iterator

import verifiers.v1 as vf

from harvestgym.text import TASKS

__all__ = ["FarmEnv", "FarmTaskset"]

RULES = "You play a game. Answer with orders and commands only, one a line. End each answer with done or wait."
TASK = {task.id: task for task in TASKS}


class FarmData(vf.TaskData):
    """An id and a season of a split."""

    game: str
    split: str
    season: int


class FarmTask(vf.Task[FarmData]):
    """A season."""


class FarmConfig(vf.TasksetConfig):
    """The seasons to play: of an id, or of all eleven for one player."""

    game: str = ""
    split: str = "train"
    seasons: int = 100


class FarmTaskset(vf.Taskset[FarmTask, FarmConfig]):
    """Seasons of the text tasks."""

    def load(self) -> Iterator[FarmTask]:
        """List the seasons; the ids take turns."""
        split, ids = self.config.split, [self.config.game] if self.config.game else list(TASK)
        for season in range(self.config.seasons):
            for id in ids:
                name = f"{id} {split} {season}"
                yield FarmTask(FarmData(name=name, system_prompt=RULES, game=id, split=split, season=season))


class FarmEnvConfig(vf.EnvConfig):
    """The player: a chat without tools, on this machine."""

    player: vf.AgentConfig = vf.AgentConfig(harness=vf.HarnessConfig(id="null"), runtime=vf.SubprocessConfig())


class FarmEnv(vf.Env[FarmEnvConfig]):
    """A game between the model and the text; what a player leaves unfinished passes without new orders."""

    async def run(self, task: FarmTask, agents: vf.Agents) -> None:
        """Play a season."""
        rules = TASK[task.data.game]
        game = rules.start(task.data.season, task.data.split)
        async with agents.player.interaction(task) as interaction:
            segment = await interaction.turn(game.reset(game.session.seed))
            while not segment.terminated:
                reply = game.step(segment.last_reply)
                if reply.done:
                    break
                segment = await interaction.turn(reply.text)
        while not game.session.over:
            game.step(f"clear\nwait 400 {game.view.unit}s")
        interaction.trace.record_reward("score", rules.scale(game.session.total))
