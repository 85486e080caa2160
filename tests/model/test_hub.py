"""Downloading from a hub, played by a server on this machine: progress, and the sentences for what a hub may answer."""

import hashlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from engine.errors import UserError
from engine.model.hub import local_folder, tokenizer_folder

COMMIT = "0123456789abcdef0123456789abcdef01234567"
FILES = {
    "config.json": b'{"model_type": "llama"}',
    "model.safetensors": b"w" * 300_000,
    "notes.md": b"not needed",
}


class Hub(BaseHTTPRequestHandler):
    """Knows one public model, owner/small, and one gated model, owner/gated."""

    def do_HEAD(self) -> None:
        self._answer(with_body=False)

    def do_GET(self) -> None:
        self._answer(with_body=True)

    def log_message(self, format: str, *args: object) -> None:
        """The test's output is not the place for it."""

    def _answer(self, with_body: bool) -> None:
        path = self.path.partition("?")[0]
        name = path.rpartition("/")[2]
        if "/owner/gated" in path:
            self._send(403, b"gated", with_body, {"X-Error-Code": "GatedRepo"})
        elif "/owner/small/" not in path and not path.endswith("/owner/small"):
            self._send(404, b"{}", with_body, {"X-Error-Code": "RepoNotFound"})
        elif "/tree/" in path:
            self._send(200, json.dumps([_entry(name) for name in FILES]).encode(), with_body)
        elif "/resolve/" in path:
            headers = {"ETag": f'"{_sha(name)}"', "X-Repo-Commit": COMMIT}
            self._send(200, FILES[name], with_body, headers)
        else:
            siblings = [{"rfilename": name} for name in FILES]
            answer = {"id": "owner/small", "sha": COMMIT, "siblings": siblings, "private": False, "tags": []}
            self._send(200, json.dumps(answer).encode(), with_body)

    def _send(self, status: int, body: bytes, with_body: bool, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for key, value in (headers or {}).items():
            self.send_header(key, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if with_body:
            self.wfile.write(body)


def _sha(name: str) -> str:
    return hashlib.sha1(FILES[name]).hexdigest()


def _entry(name: str) -> dict[str, object]:
    return {"type": "file", "path": name, "size": len(FILES[name]), "oid": _sha(name)}


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    endpoint = f"http://127.0.0.1:{server.server_port}"
    for name, value in {
        "ENDPOINT": endpoint,
        "HUGGINGFACE_CO_URL_TEMPLATE": endpoint + "/{repo_id}/resolve/{revision}/{filename}",
        "HF_HUB_OFFLINE": False,
        "HF_HUB_CACHE": str(tmp_path / "hub"),
    }.items():
        monkeypatch.setattr(f"huggingface_hub.constants.{name}", value)
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    yield
    server.shutdown()
    server.server_close()


@pytest.mark.usefixtures("hub")
def test_a_model_arrives_with_progress_and_without_what_is_not_needed(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    folder = local_folder("owner/small", False, lambda done, total: seen.append((done, total)))
    assert sorted(path.name for path in folder.iterdir()) == ["config.json", "model.safetensors"]
    assert folder.is_relative_to(tmp_path)
    wanted = len(FILES["config.json"]) + len(FILES["model.safetensors"])
    assert max(done for done, _ in seen) == wanted == max(total for _, total in seen)


@pytest.mark.usefixtures("hub")
def test_looking_at_data_brings_no_weights() -> None:
    folder = tokenizer_folder("owner/small", False, lambda done, total: None)
    assert [path.name for path in folder.iterdir()] == ["config.json"]


@pytest.mark.usefixtures("hub")
@pytest.mark.parametrize(
    ("name", "said"),
    [("owner/gated", "is gated: accept its licence"), ("owner/nothing", "the hub has no model owner/nothing")],
)
def test_what_the_hub_refuses_is_explained(name: str, said: str) -> None:
    with pytest.raises(UserError, match=said):
        local_folder(name, False, lambda done, total: None)
