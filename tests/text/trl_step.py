"""One step of `examples/trl_farm.py` with a tiny random model, whose sampling a script replaces.

The test of the examples runs it in an environment that has TRL, in a folder that it may write to.
"""

import json
from importlib.resources import files
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM
from trl_farm import make_trainer

SPECIAL = ["<|im_start|>", "<|im_end|>", "<|endoftext|>"]


def make_tokenizer() -> PreTrainedTokenizerFast:
    """Make a tokenizer of bytes with the chat template of Qwen3."""
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE({letter: n for n, letter in enumerate(letters)}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<|im_end|>", pad_token="<|endoftext|>")
    fast.add_special_tokens({"additional_special_tokens": SPECIAL})
    fast.chat_template = (files("trl") / "chat_templates" / "qwen3.jinja").read_text()
    return fast


def call(name: str, **arguments: Any) -> str:
    """Write a call of a tool as Qwen3 does."""
    return f"<tool_call>\n{json.dumps({'name': name, 'arguments': arguments})}\n</tool_call><|im_end|>"


tokenizer = make_tokenizer()
size = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
model = Qwen3ForCausalLM(Qwen3Config(vocab_size=len(tokenizer), num_key_value_heads=1, head_dim=8, **size))
model.save_pretrained("tiny")
tokenizer.save_pretrained("tiny")

trainer = make_trainer(
    "tiny", "fishing/logistic-v0", seasons=2, max_steps=1, per_device_train_batch_size=2, num_generations=2,
    max_completion_length=4096, report_to="none", use_cpu=True,
)  # fmt: skip
turns = [
    [call("order", orders="quota 0.05"), call("order", orders="quota 0.2")],
    [call("wait", steps=200), call("wait", steps=200)],
    ["The end.<|im_end|>"] * 2,
]
"""The answers of the two rollouts of the group."""


def generate(input_ids: torch.Tensor, **settings: Any) -> torch.Tensor:
    """Answer with the script."""
    answers = [trainer.processing_class(text)["input_ids"] for text in turns.pop(0)]
    longest = max(map(len, answers))
    pad = trainer.processing_class.pad_token_id
    padded = [answer + [pad] * (longest - len(answer)) for answer in answers]
    return torch.cat([input_ids, torch.tensor(padded)], dim=1)


trainer.model.generate = generate
trainer.train()
log = trainer.state.log_history[0]
print("tools:", int(log["tools/call_frequency"] * 2), "failures:", log["tools/failure_frequency"])
print("reward:", log["reward"], "std:", log["reward_std"])
