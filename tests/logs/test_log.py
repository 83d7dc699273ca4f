"""Logs: what is read is what was written, block by block, and whatever cannot be used is refused with its row."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import banditboost as bb
from banditboost.logs import Log, LogBlock, LogWriter

RNG = np.random.default_rng(0)
N = 1000


def table(n: int = N, d: int = 1) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(5)
    return {
        "contexts": rng.normal(size=(n, 3)),
        "actions": rng.uniform(0, 1, (n, d)),
        "losses": rng.normal(size=n),
        "densities": rng.uniform(0.5, 2.0, n),
        "tickets": np.arange(1, n + 1),
    }


def log_of(**changed: object) -> Log:
    columns: dict[str, object] = {**table(), **changed}
    contexts, actions, losses = (columns.pop(name) for name in ("contexts", "actions", "losses"))
    return Log.from_arrays(contexts, actions, losses, **columns)  # type: ignore[arg-type]


def whole(log: Log, rows: int = 65536) -> LogBlock:
    blocks = list(log.blocks(rows))
    columns = (None if parts[0] is None else np.concatenate(parts) for parts in list(zip(*blocks, strict=True))[:-1])
    return LogBlock(*columns, 0)  # type: ignore[arg-type, call-arg]


def same(left: LogBlock, right: LogBlock) -> None:
    for a, b in zip(left, right, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("name", ["log.csv", "log.parquet"])
@pytest.mark.parametrize("d", [1, 2])
def test_what_is_written_is_read_again_to_the_last_bit(tmp_path: Path, name: str, d: int) -> None:
    log = log_of(**table(d=d))
    log.write(tmp_path / name)
    assert [file.name for file in tmp_path.iterdir()] == [name]
    again = Log.read(tmp_path / name, action=log.action_names, density="density", ticket="ticket")
    assert again.context_names == ("x0", "x1", "x2")
    same(whole(again), whole(log))


@pytest.mark.parametrize("rows", [1, 7, 1000, 5000])
def test_blocks_are_the_rows_in_order(rows: int) -> None:
    blocks = list(log_of().blocks(rows))
    assert [block.row for block in blocks] == list(range(0, N, rows))
    same(whole(log_of(), rows), whole(log_of()))


@pytest.mark.parametrize("name", ["log.csv", "log.parquet"])
def test_a_writer_goes_on_where_another_one_ended(tmp_path: Path, name: str) -> None:
    block = whole(log_of())
    for begin in (0, 400):
        with LogWriter(tmp_path / name, every=150) as writer:
            for i in range(begin, min(begin + 400, 800)):
                one = block.take(slice(i, i + 1), i)
                assert one.densities is not None
                writer.append(one.contexts[0], one.actions, one.losses, one.densities, i + 1)
    again = Log.read(tmp_path / name, action="action", density="density", ticket="ticket")
    same(whole(again), block.take(slice(0, 800), 0))


def test_parts_of_a_log_that_was_never_closed_can_be_read_and_are_taken_over(tmp_path: Path) -> None:
    block, path = whole(log_of()), tmp_path / "log.parquet"
    writer = LogWriter(path, every=300)
    writer.write(block)
    del writer
    parts = Log.read(tmp_path / "log.parquet.parts", action="action", density="density", ticket="ticket")
    same(whole(parts), block)
    with LogWriter(path) as writer:
        assert block.tickets is not None
        writer.write(block._replace(tickets=np.asarray(block.tickets + N)))
    assert Log.read(path, action="action", ticket="ticket").rows == 2 * N
    assert not (tmp_path / "log.parquet.parts").exists()


@pytest.mark.parametrize("name", ["log.csv", "log.parquet"])
def test_other_columns_are_refused_and_the_file_stays(tmp_path: Path, name: str) -> None:
    log_of().write(tmp_path / name)
    before = (tmp_path / name).read_bytes()
    with LogWriter(tmp_path / name) as writer, pytest.raises(ValueError, match="has other columns than"):
        writer.append([0.0], [1.0], [2.0], [3.0], 7)
    assert (tmp_path / name).read_bytes() == before


def changed(name: str, row: int, value: float) -> Log:
    columns = {key: np.array(column, dtype=float) for key, column in table().items()}
    columns[name][row] = value
    return log_of(**columns)


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("contexts", np.nan, "context must be finite, got .* in row 43"),
        ("actions", np.inf, "action must be finite, got inf in row 43"),
        ("losses", np.inf, "loss must be finite, got inf in row 43"),
        ("densities", 0.0, "density must be positive, got 0 in row 43"),
        ("densities", np.inf, "density must be finite, got inf in row 43: .* point mass"),
        ("densities", -1.0, "density must be positive, got -1 in row 43"),
        ("tickets", 7.0, "ticket must not come twice, got 7 again in row 43"),
        ("tickets", 43.5, "ticket must be a whole number, got 43.5 in row 43"),
    ],
)
def test_a_row_that_cannot_be_used_is_named(name: str, value: float, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        changed(name, 42, value).check()


@pytest.mark.parametrize("written", ["nan", "NaN", " nan", "-inf"])
@pytest.mark.parametrize("column", ["x", "action", "loss"])
def test_what_is_not_finite_in_a_csv_file_is_named_however_it_is_written(
    column: str, written: str, tmp_path: Path
) -> None:
    row = {"x": "1", "action": "2", "loss": "3", "shop": "Rome"}
    lines = [",".join(row), ",".join(row.values()), ",".join((row | {column: written}).values())]
    (tmp_path / "log.csv").write_text("\n".join([*lines, ""]))
    with pytest.raises(ValueError, match=rf"column '{column}' must be finite, got -?(nan|inf) in row 2"):
        Log.read(tmp_path / "log.csv", action="action").check()


def test_columns_of_words_are_no_contexts(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("x,shop,code,action,loss\n1,Rome,1,2,3\n1,nan,b,2,3\n")
    assert Log.read(tmp_path / "log.csv", action="action").context_names == ("x",)


def test_actions_outside_the_space_are_named() -> None:
    assert log_of().check(bb.spaces.Interval(0, 1)).rows == N
    with pytest.raises(ValueError, match=r"action must lie in the space .* got 1.5 in row 43"):
        changed("actions", 42, 1.5).check(bb.spaces.Interval(0, 1))
    with pytest.raises(ValueError, match="action must have 2 coordinate"):
        log_of().check(bb.spaces.Box((0, 0), (1, 1)))


@pytest.mark.parametrize("order", ["ascending", "mixed"])
@pytest.mark.parametrize("gap", [1, 500, 999])
def test_a_ticket_that_comes_back_is_noticed_whatever_the_order(order: str, gap: int, tmp_path: Path) -> None:
    tickets = np.arange(1, N + 1) if order == "ascending" else np.random.default_rng(1).permutation(N) + 1
    log = log_of(tickets=tickets)
    assert log.check().missing == 0
    tickets[gap] = tickets[0]
    with pytest.raises(ValueError, match=f"got {tickets[0]} again in row {gap + 1}"):
        log_of(tickets=tickets).check()


def test_rows_of_one_ticket_are_answers_of_one_round_where_they_stand_together() -> None:
    x, tickets = np.repeat(np.arange(4.0), 3)[:, np.newaxis], np.repeat([1, 2, 3, 4], 3)
    actions = np.arange(12.0)
    assert Log.from_arrays(x, actions, actions, tickets=tickets).check().rows == 12
    actions[4] = actions[3]
    with pytest.raises(ValueError, match="got 2 again in row 5"):
        Log.from_arrays(x, actions, actions, tickets=tickets).check()
    x[7] = 9.0
    with pytest.raises(ValueError, match="got 3 again in row 8"):
        Log.from_arrays(x, np.arange(12.0), actions, tickets=tickets).check()


@pytest.mark.parametrize("name", ["log.csv", "log.parquet"])
def test_late_losses_find_their_rows_and_those_that_never_came_are_counted(tmp_path: Path, name: str) -> None:
    import polars as pl

    columns = table()
    early = columns["losses"].copy()
    early[::3] = np.nan
    frame = pl.DataFrame({"x": columns["contexts"][:, 0], "a": columns["actions"][:, 0], "t": columns["tickets"]})
    frame = frame.with_columns(pl.Series("l", early).fill_nan(None))
    late = pl.DataFrame({"t": columns["tickets"][::3], "l": columns["losses"][::3]}).sample(
        fraction=1, shuffle=True, seed=1
    )
    for file, what in ((tmp_path / name, frame), (tmp_path / f"late_{name}", late[:300])):
        what.write_csv(file) if name.endswith("csv") else what.write_parquet(file)
    log = Log.read(tmp_path / name, action="a", loss="l", ticket="t")
    assert log.counts() == (N, 334, 0)
    assert len(whole(log).losses) == N - 334
    joined = Log.read(tmp_path / name, action="a", loss="l", ticket="t", losses=tmp_path / f"late_{name}")
    assert joined.counts() == (N, 34, 0)
    found = whole(joined)
    assert found.tickets is not None
    np.testing.assert_array_equal(found.losses, columns["losses"][found.tickets - 1])


def test_late_losses_that_come_twice_or_belong_to_nobody() -> None:
    losses = np.array([1.0, np.nan, np.nan, np.nan])
    log = Log.from_arrays(None, [0.0, 1.0, 2.0, 3.0], losses, tickets=[1, 2, 3, 3])
    assert log.join([3, 2, 3], [5.0, 6.0, 7.0]).counts() == (4, 0, 0)
    assert whole(log.join([3, 2, 3], [5.0, 6.0, 7.0])).losses.tolist() == [1.0, 6.0, 5.0, 7.0]
    assert log.join([3, 9], [5.0, 6.0]).counts() == (4, 2, 1)
    with pytest.raises(ValueError, match="one for ticket 1 in row 1 of the log and again in row 2 of the late losses"):
        log.join([2, 1], [5.0, 6.0]).check()
    with pytest.raises(ValueError, match="another one for ticket 2 in row 3 of the late losses"):
        log.join([2, 3, 2], [5.0, 6.0, 7.0]).check()
    with pytest.raises(ValueError, match="loss must be finite, got nan in row 2 of the late losses"):
        log.join([2, 3], [5.0, np.nan])
    with pytest.raises(ValueError, match="tickets must be in the log"):
        Log.from_arrays(None, [0.0], [1.0]).join([1], [1.0])


def test_late_losses_of_one_ticket_across_blocks() -> None:
    """The rank of a row within its ticket goes on in the next block: a source of single rows gives what one block gives."""
    log = Log.from_arrays(None, np.arange(6.0), np.full(6, np.nan), tickets=[1, 2, 2, 2, 3, 3])
    joined = log.join([2, 2, 3, 1, 3, 2], [20.0, 21.0, 30.0, 10.0, 31.0, 22.0])
    (block,) = joined._source.pieces()
    for size in (1, 2, 4):
        pieces = [block.take(slice(i, i + size), i) for i in range(0, 6, size)]
        joined._source.pieces = lambda pieces=pieces: iter(pieces)  # type: ignore[method-assign, misc]
        assert whole(joined).losses.tolist() == [10.0, 20.0, 21.0, 22.0, 30.0, 31.0]


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"action": "price"}, r"action must be a column of .*, got 'price'"),
        ({"action": "a", "density": "a"}, "density must be another column than action"),
        ({"action": ["a", "a"]}, "action must be another column than action"),
        ({"action": "a", "context": ["a"]}, "context must not contain a column twice"),
        ({"action": "a", "context": ["name"]}, "column 'name' of .* must hold numbers"),
        ({"action": []}, "action must name at least one column"),
        ({"action": "a", "context": ["b"]}, "context must be columns of"),
    ],
)
def test_columns_that_are_not_there(tmp_path: Path, given: dict[str, object], sentence: str) -> None:
    path = tmp_path / "log.csv"
    path.write_text("name,x,a,loss\nada,1,2,3\n")
    with pytest.raises(ValueError, match=sentence):
        Log.read(path, **given)  # type: ignore[arg-type]
    assert Log.read(path, action="a").context_names == ("x",)


def test_a_missing_entry_elsewhere_is_refused_with_its_row(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("x,a,loss\n1,2,3\n1,,3\n")
    with pytest.raises(ValueError, match="column 'a' must have no missing values, got one in row 2"):
        Log.read(path, action="a").check()
    path.write_text("x,a,loss\n1,2,3\n1,2,many\n")
    with pytest.raises(ValueError, match="must hold numbers"):
        Log.read(path, action="a").check()


def test_rows_about_which_there_was_no_choice_are_left_out_and_counted(tmp_path: Path) -> None:
    with LogWriter(tmp_path / "log.csv") as writer:
        writer.append([1.0], [2.0, 3.0], [4.0, 5.0], [0.0, 1.0], 1)
    assert writer.left_out == 1
    assert Log.read(tmp_path / "log.csv", action="action", density="density").rows == 1
    with pytest.raises(ValueError, match="is closed"):
        writer.append([1.0], [2.0], [4.0], [1.0], 2)


@pytest.mark.parametrize("name", ["log.csv", "log.parquet"])
def test_densities_that_are_not_known_stay_unknown(tmp_path: Path, name: str) -> None:
    with LogWriter(tmp_path / name) as writer:
        writer.append([1.0], [2.0, 3.0], [4.0, 5.0], [np.nan, 1.0], 1)
    (block,) = Log.read(tmp_path / name, action="action", density="density").blocks()
    np.testing.assert_array_equal(block.densities, [np.nan, 1.0])


def test_arrays_of_different_lengths() -> None:
    with pytest.raises(ValueError, match="densities must have one entry for each of the 2 losses"):
        Log.from_arrays(None, [1.0, 2.0], [1.0, 2.0], densities=[1.0])
    with pytest.raises(ValueError, match="actions must have one entry for each of the 2 losses"):
        Log.from_arrays(None, [1.0, 2.0, 3.0], [1.0, 2.0])
    with pytest.raises(ValueError, match="actions must be numbers"):
        Log.from_arrays(None, ["a"], [1.0])
