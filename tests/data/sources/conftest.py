"""Reading a corpus from files that a test writes, and a hub that is played by a server on this machine."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest

from engine.data.errors import BadRow
from engine.data.sources.corpus import Corpus
from engine.data.sources.rows import RawRow, SourceSpec


def corpus(*paths: Path | str, split: str = "train", first_row: int = 0) -> Corpus:
    return Corpus([SourceSpec(str(path), split) for path in paths], first_row)


def values(rows: Corpus) -> list[Any]:
    """The rows' values; the sentence in place of a row that is bad."""
    return [row.value if isinstance(row, RawRow) else str(row) for row in rows]


def lines(rows: Corpus) -> list[int]:
    return [row.line for row in rows]


def the_bad_one(rows: Corpus) -> BadRow:
    (bad,) = [row for row in rows if isinstance(row, BadRow)]
    return bad


def jsonl(*rows: Any) -> bytes:
    return b"".join(json.dumps(row, ensure_ascii=False).encode() + b"\n" for row in rows)


COMMIT = "0123456789abcdef0123456789abcdef01234567"
REPOSITORIES: dict[str, dict[str, bytes]] = {
    "owner/chats": {
        "README.md": b"# Chats",
        "data/train-00000-of-00002.jsonl": jsonl({"text": "a", "meta": {"x": 1}}, {"text": "b", "meta": {"y": None}}),
        "data/train-00001-of-00002.jsonl": jsonl({"text": "c"}),
        "data/test-00000-of-00001.jsonl": jsonl({"text": "t"}),
    },
    "owner/subsets": {
        "README.md": b"---\nconfigs:\n- config_name: short\n  data_files: short.jsonl\n"
        b"- config_name: long\n  data_files: long.jsonl\n---\n",
        "short.jsonl": jsonl({"text": "short"}),
        "long.jsonl": jsonl({"text": "long"}),
    },
    "owner/table": {"train.csv": b"text,number\nhello,1\nbye,2\n"},
    "owner/empty": {"README.md": b"# Nothing here"},
}


class _Hub(BaseHTTPRequestHandler):
    """Knows the data sets above, and one gated one, owner/gated."""

    def do_HEAD(self) -> None:
        self._answer(with_body=False)

    def do_GET(self) -> None:
        self._answer(with_body=True)

    def do_POST(self) -> None:
        self._answer(with_body=True)

    def log_message(self, format: str, *args: object) -> None:
        """The test's output is not the place for it."""

    def _answer(self, with_body: bool) -> None:
        sent = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
        path, _, query = self.path.partition("?")
        files = next((files for name, files in REPOSITORIES.items() if f"/datasets/{name}" in path), None)
        if "/owner/gated" in path:
            self._send(403, b"gated", with_body, {"X-Error-Code": "GatedRepo"})
        elif files is None:
            self._send(404, b"{}", with_body, {"X-Error-Code": "RepoNotFound"})
        elif "/paths-info/" in path:
            wanted = json.loads(sent)["paths"] if sent.startswith("{") else parse_qs(sent).get("paths", [])
            self._send_json([_entry(name, files) for name in wanted if name in files], with_body)
        elif "/tree/" in path:
            folder = path.partition("/tree/")[2].partition("/")[2]
            self._send_json(_listing(folder, files, "recursive=true" in query.lower()), with_body)
        elif "/resolve/" in path:
            name = path.partition("/resolve/")[2].partition("/")[2]
            if name in files:
                etag = hashlib.sha1(files[name]).hexdigest()
                self._send(200, files[name], with_body, {"ETag": f'"{etag}"', "X-Repo-Commit": COMMIT})
            else:
                self._send(404, b"", with_body, {"X-Error-Code": "EntryNotFound", "X-Repo-Commit": COMMIT})
        else:
            siblings = [{"rfilename": name} for name in files]
            self._send_json({"id": "x", "sha": COMMIT, "siblings": siblings, "private": False, "tags": []}, with_body)

    def _send_json(self, answer: Any, with_body: bool) -> None:
        self._send(200, json.dumps(answer).encode(), with_body)

    def _send(self, status: int, body: bytes, with_body: bool, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for key, value in (headers or {}).items():
            self.send_header(key, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if with_body:
            self.wfile.write(body)


def _entry(name: str, files: dict[str, bytes]) -> dict[str, object]:
    return {"type": "file", "path": name, "size": len(files[name]), "oid": hashlib.sha1(files[name]).hexdigest()}


def _listing(folder: str, files: dict[str, bytes], recursive: bool) -> list[dict[str, object]]:
    start = f"{folder}/" if folder else ""
    below = [name for name in files if name.startswith(start)]
    entries = [_entry(name, files) for name in below if recursive or "/" not in name[len(start) :]]
    folders = {start + name[len(start) :].partition("/")[0] for name in below if "/" in name[len(start) :]}
    return entries + [{"type": "directory", "path": name, "oid": "00"} for name in sorted(folders)]


class PlayedHub:
    """The hub of one test; `close` pulls the plug."""

    def __init__(self) -> None:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _Hub)
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        self.endpoint = f"http://127.0.0.1:{self._server.server_port}"
        self.is_open = True

    def close(self) -> None:
        if self.is_open:
            self._server.shutdown()
            self._server.server_close()
        self.is_open = False


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[PlayedHub]:
    import huggingface_hub

    played = PlayedHub()
    for name, value in {
        "huggingface_hub.constants.ENDPOINT": played.endpoint,
        "huggingface_hub.constants.HUGGINGFACE_CO_URL_TEMPLATE": played.endpoint
        + "/{repo_id}/resolve/{revision}/{filename}",
        "huggingface_hub.constants.HF_HUB_OFFLINE": False,
        "huggingface_hub.constants.HF_HUB_CACHE": str(tmp_path / "hub"),
        "datasets.config.HF_ENDPOINT": played.endpoint,
        "datasets.config.HF_HUB_OFFLINE": False,
        "datasets.config.HF_DATASETS_CACHE": tmp_path / "datasets",
    }.items():
        monkeypatch.setattr(name, value)
    for name in ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    huggingface_hub.HfFileSystem.clear_instance_cache()
    yield played
    played.close()
