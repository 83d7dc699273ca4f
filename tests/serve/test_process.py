"""The service as users start it: killed, started again, told to stop, and refused where it would be open to others."""

from __future__ import annotations

import json
import os
import signal
import ssl
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import httpx
import pytest

import banditboost as bb
from banditboost.serve import claim
from tests.serve.common import RECIPE, ROOT, SHOP, Process, free_port

X = [0.3, 1.0]


def post(service: Process, path: str, body: Any, **headers: str) -> Any:
    answer = service.http.post(
        f"{SHOP}/{path}", json=body, headers={k.replace("_", "-"): v for k, v in headers.items()}
    )
    assert answer.status_code == 200, answer.text
    return answer.json()


def journal(data: Path) -> Path:
    (found,) = data.glob("booster-*/booster.journal")
    return found


def test_killed_started_again_and_told_to_stop(tmp_path: Path) -> None:
    data = tmp_path / "data"
    service = Process(data)
    assert service.http.put(SHOP, json={"recipe": RECIPE}).status_code == 201
    first = post(service, "ask", {"context": X}, idempotency_key="a")
    other = post(service, "ask", {"context": X})
    post(service, "tell", {"ticket": first["ticket"], "losses": 2.0})
    digest = service.http.get(f"{SHOP}?digest=true").json()["digest"]
    assert service.end(signal.SIGKILL) == -signal.SIGKILL
    assert bb.Journal.replay(journal(data)).booster.digest() == digest

    service = Process(data)
    assert service.http.get(f"{SHOP}?digest=true").json()["digest"] == digest
    assert post(service, "ask", {"context": X}, idempotency_key="a") == first
    assert post(service, "tell", {"ticket": first["ticket"], "losses": 2.0})["result"] == "repeated"
    assert post(service, "tell", {"ticket": other["ticket"], "losses": 2.0})["result"] == "told"

    # Requests that are under way when it is told to stop are answered, and what was answered is there.
    answered = []

    def ask() -> None:
        with httpx.Client(base_url=service.url, timeout=30.0) as http:
            try:
                while http.post(f"{SHOP}/ask", json={"context": X}).status_code == 200:
                    answered.append(1)
                    started.set()
            except httpx.TransportError:
                return

    started = threading.Event()
    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    assert started.wait(30)
    ended = service.end(signal.SIGTERM)
    for thread in threads:
        thread.join()
    assert ended in (0, -signal.SIGTERM)  # uvicorn raises the signal once more when all is done
    said = [one["event"] for one in service.events() if one["event"] != "log"]
    assert said == ["serving", "serving", "opened", "stopped"]
    found = bb.Journal.replay(journal(data))
    assert (found.repeated, found.booster.rounds) == (0, 2)  # a snapshot, and nothing to repeat
    assert len(answered) <= len(found.tickets) <= len(answered) + 4


def run(*arguments: str) -> Any:
    command = [sys.executable, "-m", "banditboost", *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=os.environ | {"OPENBLAS_NUM_THREADS": "1"})


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--host", "0.0.0.0"], "as long as there are no keys"),
        (["--durability", "most"], "durability must be one of each, group, off"),
        (["--certificate", "a.pem"], "given together"),
        (["--rate", "-1"], "rate must be"),
    ],
)
def test_what_is_refused(tmp_path: Path, arguments: list[str], said: str) -> None:
    done = run("serve", "--data", str(tmp_path / "data"), *arguments)
    assert done.returncode == 1
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_a_folder_has_one_service_and_a_port_one_program(tmp_path: Path) -> None:
    data, other = tmp_path / "data", tmp_path / "other"
    service = Process(data)
    try:
        assert service.http.put(SHOP, json={"recipe": RECIPE}).status_code == 201
        second = run("serve", "--data", str(data), "--port", str(free_port()))
        assert second.returncode == 1
        assert second.stderr.startswith(
            f"Error: data must be a folder that no other service uses, got {data}, in which one"
        )
        taken = run("serve", "--data", str(other), "--port", str(service.port))
        assert taken.returncode == 1
        assert taken.stderr.startswith(
            f"Error: port must be one that no other program listens at, got {service.port}, "
        )
        for refused in (second, taken):
            assert refused.stderr.count("\n") == 1
        assert service.http.get(SHOP).status_code == 200
    finally:
        service.end(signal.SIGKILL)
    again = Process(data)  # the lock of a process that was killed is open
    assert again.http.get(SHOP).status_code == 200
    again.end(signal.SIGKILL)


def test_an_address_of_another_machine_is_refused() -> None:
    with pytest.raises(ValueError, match="host must be an address of this machine"):
        claim.sockets("192.0.2.1", free_port())


@pytest.mark.torture
def test_many_kills() -> None:
    command = [sys.executable, str(ROOT / "tools" / "crash_serve.py"), "--kills", "12"]
    shown = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert shown.returncode == 0, shown.stdout + shown.stderr
    shown = subprocess.run([*command, "--broken"], capture_output=True, text=True, cwd=ROOT)
    assert shown.returncode == 1, "what is acknowledged before the disk has it must be seen to be lost"


@pytest.mark.torture
def test_the_load_is_measured(tmp_path: Path) -> None:
    path = tmp_path / "serve.json"
    command = [sys.executable, str(ROOT / "tools" / "load_serve.py"), "--seconds", "1", "--turns", "1", "--rates", "20"]
    subprocess.run([*command, "--json", str(path)], check=True, cwd=ROOT)
    found = json.loads(path.read_text())
    assert {row["setting"] for row in found["rows"]} == {"each", "group", "group, sync 5 ms slower", "off"}
    assert all(row["answered"] == row["sent"] == 20 for row in found["rows"])
    assert found["throughput"]["ratio"] > 0


@pytest.mark.torture
def test_tls(tmp_path: Path) -> None:
    request = "req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1"
    files = ["-keyout", str(tmp_path / "key.pem"), "-out", str(tmp_path / "cert.pem")]
    subprocess.run(["openssl", *request.split(), *files], check=True, capture_output=True)
    port = str(free_port())
    command = [sys.executable, "-m", "banditboost", "serve", "--data", str(tmp_path / "data"), "--port", port]
    command += ["--certificate", str(tmp_path / "cert.pem"), "--private-key", str(tmp_path / "key.pem")]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        context = ssl.create_default_context(cafile=str(tmp_path / "cert.pem"))
        with httpx.Client(verify=context, transport=httpx.HTTPTransport(verify=context, retries=8)) as http:
            assert http.get(f"https://127.0.0.1:{port}/health").json()["status"] == "alive"
    finally:
        process.terminate()
        process.wait()
