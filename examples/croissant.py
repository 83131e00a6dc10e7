"""Croissant metadata for a file of demonstrations: its columns, origin, limits and intended uses.

    harvestgym record fishing/logistic-v0 --policy random --episodes 100 --out random.parquet
    python examples/croissant.py random.parquet

It writes `random.croissant.json`: Croissant 1.0 with the RAI extension (MLCommons), as JSON-LD, derived from the file
and the id's metadata. `mlcroissant validate --jsonld random.croissant.json` checks it.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections.abc import Iterable
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

import harvestgym
from harvestgym.core.errors import ConfigError
from harvestgym.evaluate.datasets.demonstration_files import read_about
from harvestgym.evaluate.run import policy_named
from harvestgym.registry import doc, spec

METADATA_SUFFIX = ".croissant.json"

CROISSANT_TERMS = (
    "citeAs", "column", "conformsTo", "equivalentProperty", "extract", "field", "fileObject", "fileProperty", "fileSet",
    "format", "includes", "isLiveDataset", "jsonPath", "key", "md5", "parentField", "path", "recordSet", "references",
    "regex", "repeated", "replace", "samplingRate", "separator", "source", "subField", "transform",
)  # fmt: skip
"""Terms of the standard context, which are written without a prefix."""

CONTEXT: dict[str, Any] = {
    "@language": "en", "@vocab": "https://schema.org/", "sc": "https://schema.org/", "dct": "http://purl.org/dc/terms/",
    "cr": "http://mlcommons.org/croissant/", "rai": "http://mlcommons.org/croissant/RAI/",
    **{term: f"cr:{term}" for term in CROISSANT_TERMS}, "conformsTo": "dct:conformsTo",
    "data": {"@id": "cr:data", "@type": "@json"}, "examples": {"@id": "cr:examples", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
}  # fmt: skip

COLUMN_MEANINGS = {
    "episode": "number of the episode, from 0",
    "step": "number of the step; 0 is the reset, whose action and reward are zeros",
    "reward": "reward of the action that led to this row",
    "terminated": "whether a condition of the environment ended the episode here",
    "truncated": "whether the time limit ended the episode here",
}


def write_metadata(path: str | Path) -> Path:
    """Write the metadata for a Parquet file of demonstrations to `NAME.croissant.json` next to it; return the path."""
    path = Path(path)
    target = path.with_suffix(METADATA_SUFFIX)
    target.write_text(json.dumps(describe(path), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return target


def describe(path: Path) -> dict[str, Any]:
    """Describe a Parquet file of demonstrations; raises ConfigError if it is not one."""
    schema = pq.read_schema(path)
    about, types = read_about(schema, path), {field.name: str(field.type) for field in schema}
    id, name = about["id"], path.stem
    changes = f" with {json.dumps(about['overrides'])}" if about["overrides"] else ""
    content = f"{len(about['seeds'])} episodes of the policy {about['by']} in the simulated environment {id}{changes}."
    return {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": ["http://mlcommons.org/croissant/1.0", "http://mlcommons.org/croissant/RAI/1.0"],
        "name": name,
        "description": f"{content} {doc(id)}".strip(),
        "version": "1.0.0",
        "license": "https://spdx.org/licenses/BSD-3-Clause.html",
        "url": "https://github.com/harvestgym/harvestgym",
        "citeAs": f"HarvestGym {harvestgym.__version__}, {id}",
        "datePublished": datetime.fromtimestamp(path.stat().st_mtime, UTC).date().isoformat(),
        "creator": {"@type": "sc:Organization", "name": "HarvestGym", "url": "https://github.com/harvestgym/harvestgym"},
        "keywords": ["reinforcement learning", "offline reinforcement learning", spec(id).family, id],
        **describe_responsibly(about),
        "distribution": [
            {
                "@type": "cr:FileObject", "@id": "table", "name": path.name, "contentUrl": path.name,
                "encodingFormat": "application/x-parquet", "contentSize": f"{path.stat().st_size} B",
                "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
            }
        ],
        "recordSet": [
            {
                "@type": "cr:RecordSet", "@id": "steps", "name": "steps", "description": "A row for each observation.",
                "field": [_describe_field(*of) for of in zip(name_fields(types), types, types.values(), strict=True)],
            }
        ],
    }  # fmt: skip


def describe_responsibly(about: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of the RAI extension: collection, limits, biases and uses."""
    return {
        "rai:dataCollection": f"Simulated by harvestgym {harvestgym.__version__}; the policy was {about['by']}. "
        "Episode i starts with reset(seed=s), with the i-th of the seeds "
        f"{', '.join(str(seed) for seed in about['seeds'][:5])}{' ...' * (len(about['seeds']) > 5)}."
        f"{_describe_recipe(about)}",
        "rai:dataCollectionType": ["Simulations"],
        "rai:dataBiases": ["States that the policy does not visit are missing.",
                           "The weather comes from the sites and years of the id."],
        "rai:dataLimitations": "Crops, stocks and foragers are simplified models; their validation is documented "
        "with the package. Nothing here is a measurement of a field or a fishery.",
        "rai:dataUseCases": ["Offline reinforcement learning", "Imitation learning"],
        "rai:dataSocialImpact": "Not meant for advice on real farms or fisheries.",
        "rai:personalSensitiveInformation": ["None"],
        "rai:hasSyntheticData": True,
    }  # fmt: skip


def _describe_recipe(about: dict[str, Any]) -> str:
    """Return the command that reproduces the file; empty if a human or an unknown policy acted."""
    id, by, seeds = about["id"], about["by"], about["seeds"]
    if about["overrides"] or None in seeds or seeds != [*range(seeds[0], seeds[0] + len(seeds))]:
        return ""
    try:
        policy_named(id, spec(id).make(), by)
    except ConfigError:
        return ""
    options = f"--policy {by} --episodes {len(seeds)} --seed {seeds[0]}"
    return f" The command harvestgym record {id} {options} --out NAME.parquet records it again."


def name_fields(columns: Iterable[str]) -> list[str]:
    """Return a unique `@id` for each column, without spaces or special characters."""
    names: list[str] = []
    for column in columns:
        plain = "steps/" + re.sub(r"[^-.\w/]+", "_", column)
        names.append(next(name for i in count(1) if (name := plain if i == 1 else f"{plain}_{i}") not in names))
    return names


def _describe_field(name: str, column: str, kind: str) -> dict[str, Any]:
    """Describe a column; a list is a repeated field."""
    repeated = kind.startswith("fixed_size_list")
    scalar = kind.partition("<element: ")[2] or kind
    types = {"bool": "sc:Boolean", "float": "sc:Float", "double": "sc:Float", "halffloat": "sc:Float"}
    part, _, rest = column.partition("/")
    return {
        "@type": "cr:Field", "@id": name, "name": name,
        "description": COLUMN_MEANINGS.get(column, f"{part}, {rest}" if rest else part),
        "dataType": next((word for start, word in types.items() if scalar.startswith(start)), "sc:Integer"),
        **({"repeated": True} if repeated else {}),
        "source": {"fileObject": {"@id": "table"}, "extract": {"column": column}},
    }  # fmt: skip


if __name__ == "__main__":
    print(f"wrote {write_metadata(sys.argv[1])}")
