"""One name, one meaning: no two modules define different public things under the same name."""

from __future__ import annotations

import ast

from .load_script import ROOT, script

structure = script("tools/structure.py")
TREE = structure.Tree(ROOT)

FAMILY = {
    "CATALOGUE",
    "describe",
    "explain",
    "explain_policy",
    "figure",
    "find_events",
    "from_yaml",
    "make",
    "make_gymnasium",
    "make_rule_families",
    "policies",
    "record",
    "risk",
    "say_goal",
    "scene",
    "summary",
    "timeline",
}
"""The functions that every `family.py` offers under the same name, and the modules that implement them."""

SHARED = {
    "ForagerConfig": "ours, and the stand-in with the name and the arguments of the Forager package",
    "ForagerEnv": "ours, and the stand-in with the name and the arguments of the Forager package",
    "Thorns": "ours, which stay, and the stand-in for those of the Forager package",
    "FORMAT": "the name of a file format, one constant for each format",
    "describe": "each `drawing.py` of an entity describes that entity, each `view/describe.py` that family",
    "group": "every module of `cli/` has one group of commands",
    "make": "`registry.make`, and the `make` of each family that it calls",
    "record": "the command `harvestgym record`, and the functions of the families",
    "run": "the command `harvestgym run`, and the function that starts the browser game",
    "scene": "the functions of the families, and of the neighbours who share water",
    "score": "the command `harvestgym score`, and the function that it calls",
}
"""Names that several modules share on purpose, and why."""

STAND_INS = "fishing.drop_in."
"""The package whose classes have the names of gym_fishing and gym_conservation."""

ENGINES = ("forager.jax_engine.", "forager.host_engine.", "forager.hashing")


def twins(modules: list[str]) -> bool:
    """Return whether the modules are of the two forager engines: the same function, compiled in two ways."""
    return len(modules) == 2 and all(m.removeprefix("harvestgym.").startswith(ENGINES) for m in modules)


def in_families(modules: list[str]) -> bool:
    families = [module.split(".") for module in modules]
    homes = ("family", "policies", "metrics", "control", "rule_numbers")
    return all(parts[1] in structure.FAMILIES and (parts[-1] in homes or "view" in parts) for parts in families)


def test_a_public_name_has_one_meaning() -> None:
    left = {}
    for name, modules in TREE.duplicates.items():
        own = [module for module in modules if STAND_INS not in module]
        if not (len(own) < 2 or name in SHARED or twins(own) or (name in FAMILY and in_families(own))):
            left[name] = own
    assert left == {}


def test_the_list_of_shared_names_is_current() -> None:
    assert set(SHARED) <= set(TREE.duplicates), "remove from SHARED what is no longer shared"


def test_tests_use_public_names_only() -> None:
    """A private name may change at any time; the methods of named tuples and of notebooks are public all the same."""
    public = {"_replace", "_asdict", "_fields", "_make", "_repr_html_", "_repr_png_"}
    found = []
    for path in sorted((ROOT / "tests").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(("harvestgym", "experiments")):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.Attribute) and not (isinstance(node.value, ast.Name) and node.value.id == "self"):
                names = [node.attr]
            else:
                continue
            private = [name for name in names if name.startswith("_") and not name.startswith("__")]
            found += [f"{path.relative_to(ROOT)}:{node.lineno} {name}" for name in private if name not in public]
    assert found == []
