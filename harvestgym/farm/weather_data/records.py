"""Public weather records to download: their addresses, checksums and licences (`records.yaml`)."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from harvestgym.core.errors import check_extras, check_name, mismatch, require
from harvestgym.core.yaml_io import read_file

RECORDS_FILE = Path(__file__).with_name("records.yaml")


class PublicRecord(NamedTuple):
    """A record in `records.yaml`; `settings` are for a Weather set that uses the file, if a farm can use it."""

    path: str
    sha256: str
    about: str
    licence: str
    settings: str = ""


def list_records() -> dict[str, PublicRecord]:
    """List the known records by name."""
    return {name: PublicRecord(**of) for name, of in read_file(RECORDS_FILE)["records"].items()}


def download_record(name: str, folder: Path, base_url: str = "") -> Path:
    """Download a record into a folder, by default from its source, and return its path; needs the extra `download`.

    Raises ConfigError if the record is unknown or cannot be reached, or if its content has changed; nothing is written.
    """
    check_name("record", name, list_records())
    check_extras("weather record", download="pooch")
    import pooch

    record, url = list_records()[name], base_url or read_file(RECORDS_FILE)["url"]
    file = folder / f"{name}{Path(record.path).suffix}"
    require(not file.exists(), file, "a new file", "an existing one", "another folder")
    try:
        return Path(pooch.retrieve(url + record.path, f"sha256:{record.sha256}", file.name, folder))
    except (ValueError, OSError) as error:  # a different checksum, or no answer
        raise mismatch(name, f"the record at {url}{record.path}", error, "again later") from None
