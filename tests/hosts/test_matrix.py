"""Numbers are the same in every host: one step of stored states, whole episodes, a game of Gymnasium."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from tests.long_form import some

from .matrix import HOSTS, IDS, ONLY, compare, run

PLAYED = some(IDS, "walleye-v0")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a reference that has run."""
    folder = tmp_path_factory.mktemp("hosts")
    run("reference", folder, PLAYED)
    return folder


SOME_HOSTS = some(
    [host for host in HOSTS if host != "reference"], "JAX used before"
)  # 64 bits: tests/hosts/test_x64.py


@pytest.mark.parametrize("host", SOME_HOSTS)
def test_a_host_gives_the_numbers_of_a_plain_process(host: str, folder: Path) -> None:
    if host == "notebook" and importlib.util.find_spec("nbclient") is None:
        pytest.skip("nbclient is not installed")
    played = [id for id in PLAYED if id in ONLY.get(host, PLAYED)]
    said = run(host, folder, played)
    assert "Traceback" not in said and "Aborted" not in said
    wrong = {id: found for id, found in compare(host, folder, played).items() if not found.is_small}
    assert wrong == {}
