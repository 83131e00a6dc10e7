"""Evaluate a language model on the held-out seasons of the text tasks with Inspect.

    pip install . 'inspect-ai>=0.3.280'   # in a separate environment
    python examples/inspect_farm.py       # a script plays in place of a model
    inspect eval examples/inspect_farm.py --model openai/gpt-5 -T id=farm/corn-1x1-v0 -T seasons=5

A sample is a season of the test split. Its score is 0 for doing nothing and 1 for the best known policy.
"""

import re

from inspect_ai import Task, eval, task
from inspect_ai.dataset import Sample
from inspect_ai.model import ChatMessage, ChatMessageSystem, ChatMessageUser, ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import Score, Target, grouped, mean, scorer, stderr
from inspect_ai.solver import Generate, TaskState, solver

from harvestgym.text import TASKS

RULES = "You play a game. Answer with orders and commands only, one a line. End each answer with done or wait."
TASK = {task.id: task for task in TASKS}


@task
def harvest(id: str = "", seasons: int = 20, turns: int = 300, memory: int = 20) -> Task:
    """Play seasons of an id, or of each of the eleven of one player; see `play` for the other arguments."""
    ids = [id] if id else list(TASK)
    samples = [
        Sample(input=f"Play {id}.", id=f"{id} {season}", metadata={"id": id, "season": season})
        for id in ids
        for season in range(seasons)
    ]
    return Task(dataset=samples, solver=play(turns, memory), scorer=score_season(), version=1)


@solver
def play(turns: int, memory: int):
    """Send the model's answers to the game, and the game's texts to the model.

    The model sees the rules and the last `memory` messages, since each text restates the state. After `turns` answers,
    the rest of the season passes without new orders.
    """

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        game = TASK[state.metadata["id"]].start(state.metadata["season"])
        start = [ChatMessageSystem(content=RULES), ChatMessageUser(content=game.reset(game.session.seed))]
        state.messages, mistakes = start, 0
        for _ in range(turns):
            state = await generate(state)
            reply = game.step(state.output.completion)
            mistakes += len(reply.info["mistakes"])
            history = [*state.messages[len(start) :], ChatMessageUser(content=reply.text)]
            state.messages = start + history[-memory:]
            if reply.done:
                break
        while not game.session.over:
            game.step(f"clear\nwait 400 {game.view.unit}s")
        state.metadata |= {"return": game.session.total, "mistakes": mistakes}
        return state

    return solve


@scorer(metrics=[grouped(mean(), "id"), stderr()])
def score_season():
    """Score the return of a season."""

    async def score(state: TaskState, target: Target) -> Score:
        found = {name: state.metadata[name] for name in ("return", "mistakes")}
        return Score(value=TASK[state.metadata["id"]].scale(found["return"]), metadata=found)

    return score


def fish(messages: list[ChatMessage], *_: object) -> ModelOutput:
    """Answer as a model would: allow what exceeds a stock of 0.5."""
    stock = float(re.findall(r"stock (\d+\.?\d*)", messages[-1].text)[-1])
    output = ModelOutput.from_content("mockllm", f"quota {max(stock - 0.5, 0):.3f}\ndone")
    output.usage = ModelUsage()  # Inspect would download a tokenizer to count them
    return output


if __name__ == "__main__":
    model = get_model("mockllm/model", custom_outputs=fish)
    (log,) = eval(harvest("fishing/logistic-v0", seasons=2), model=model, display="none")
    assert log.results, log.error and log.error.message
    for found in log.results.scores:
        for name, metric in found.metrics.items():
            print(f"{name}: {metric.value:.3f}")
