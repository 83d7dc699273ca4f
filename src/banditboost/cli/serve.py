"""`banditboost serve` and `banditboost keys`: the decision service, and who may use it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

keys = typer.Typer(no_args_is_help=True, help="Make, list or revoke the keys of a service.")

Data = Annotated[Path, typer.Option(help="The service's folder; made where it is not there.", file_okay=False)]
NEEDED = "The service needs the extra 'serve': pip install 'banditboost[cli,serve]'."


def serve(
    data: Data,
    host: Annotated[
        str, typer.Option(help="The address to listen on; another machine's callers need keys.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535, help="The port to listen on.")] = 8000,
    model: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=FILE",
            help="A model file, such as `banditboost warm` writes, that becomes the booster of this name where there is none yet; "
            "TENANT/NAME=FILE where there are keys. May be given several times.",
        ),
    ] = None,
    durability: Annotated[
        str,
        typer.Option(
            help="When a call is acknowledged: each (a sync for every call), group (one sync for all calls that wait), or off (no "
            "sync: a power failure may lose the last seconds)."
        ),
    ] = "group",
    rate: Annotated[float | None, typer.Option(help="Most requests a second of one key or address.")] = None,
    certificate: Annotated[Path | None, typer.Option(help="TLS: the certificate chain, PEM.", dir_okay=False)] = None,
    private_key: Annotated[Path | None, typer.Option(help="TLS: the private key, PEM.", dir_okay=False)] = None,
    most_bytes: Annotated[int, typer.Option(min=1024, help="Most bytes of a request's body.")] = 2**20,
    keep_days: Annotated[
        float | None,
        typer.Option(help="Days after which rounds are erased from journal, log and memory; for ever when not given."),
    ] = None,
    log_requests: Annotated[bool, typer.Option("--log-requests", help="Write a line for every request.")] = False,
    cluster: Annotated[
        bool, typer.Option("--cluster", help="Put boosters into processes of a Ray cluster; needs the extra 'ray'.")
    ] = False,
    shards: Annotated[int, typer.Option(min=1, max=1000, help="With --cluster, in how many processes.")] = 2,
    ray_address: Annotated[
        str | None, typer.Option(help="With --cluster, a cluster that runs; one on this machine when not given.")
    ] = None,
) -> None:
    """Serve boosters over HTTP: ask, play, tell. Every call that is acknowledged is in a journal, and survives a crash."""
    try:
        from banditboost.serve.app import Settings
        from banditboost.serve.models import given
        from banditboost.serve.server import serve as run
        from banditboost.serve.writer import DURABILITIES
    except ImportError as error:
        raise ImportError(f"{NEEDED} ({error})") from None
    if durability not in DURABILITIES:
        raise ValueError(f"durability must be one of {', '.join(DURABILITIES)}, got {durability!r:.50}.")
    if rate is not None and not 0 < rate < float("inf"):
        raise ValueError(f"rate must be a positive number, got {rate!r}.")
    if keep_days is not None and not 0 < keep_days < float("inf"):
        raise ValueError(f"keep days must be a positive number, got {keep_days!r}.")
    models = [given(one) for one in model or ()]
    settings = Settings(data, durability, rate, most_bytes, log_requests=log_requests, keep_days=keep_days)
    if not cluster:
        run(settings, host, port, certificate, private_key, models)
        return
    if certificate is not None or private_key is not None:
        raise ValueError("certificate must be left out with --cluster: let a proxy before the service speak TLS.")
    from banditboost.serve.cluster import serve as run_cluster

    try:
        import ray.serve  # noqa: F401 - whether it is there
    except ImportError as error:
        raise ImportError(
            f"A cluster needs the extra 'ray': pip install 'banditboost[cli,serve,ray]'. ({error})"
        ) from None
    run_cluster(settings, host, port, shards, ray_address, models)


@keys.command("add")
def add(
    data: Data,
    role: Annotated[str, typer.Option(help="read, decide or admin: each may all that those before it may.")],
    tenant: Annotated[str, typer.Option(help="Whose boosters the key is for.")] = "local",
    rate: Annotated[float | None, typer.Option(min=0.001, help="Most requests a second.")] = None,
) -> None:
    """Make a key and print it; it is shown this once, and only a hash of it is kept."""
    from banditboost.serve.catalog import Catalog

    typer.echo(Catalog(data).add_key(tenant, role, rate))


@keys.command("list")
def show(data: Data) -> None:
    """List the keys by the name in their middle, with tenant, role and rate."""
    from banditboost.serve.catalog import Catalog

    for key in Catalog(data).all_keys():
        limit = "no limit of its own" if key.rate is None else f"{key.rate:g} requests a second"
        typer.echo(f"{key.id}  {key.tenant}  {key.role}  {limit}")


@keys.command("revoke")
def revoke(data: Data, name: Annotated[str, typer.Argument(help="The name in the middle of the key.")]) -> None:
    """Let a key be taken no longer; a running service knows within a second."""
    from banditboost.serve.catalog import Catalog

    if not Catalog(data).revoke_key(name):
        raise ValueError(f"There is no key named {name!r:.50}.")
    typer.echo(f"Revoked: {name}")
