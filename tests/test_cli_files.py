"""Reading a table: headers of every kind, read from the first line alone, and no second copy of the content."""

from __future__ import annotations

import io
import os
import sys
import threading
import tracemalloc

import polars as pl
import pytest

from ivicl.data.files import read_table
from ivicl.errors import InputError

ROWS = b"0,0,1\n1,1,0\n"


def read(tmp_path, content: bytes, name: str = "data.csv") -> pl.DataFrame:
    path = tmp_path / name
    path.write_bytes(content)
    return read_table(str(path))


@pytest.mark.parametrize(
    ("content", "columns"),
    [
        (b"z,t,y\n" + ROWS, ["z", "t", "y"]),
        (b"\xef\xbb\xbfz,t,y\n" + ROWS, ["z", "t", "y"]),
        (b"\n\r\nz,t,y\n" + ROWS, ["z", "t", "y"]),
        (b"z,t,y\r\n" + ROWS.replace(b"\n", b"\r\n"), ["z", "t", "y"]),
        (b"z,t,y\n0,0,1\n1,1,0", ["z", "t", "y"]),
        (b"z;t;y\n" + ROWS.replace(b",", b";"), ["z", "t", "y"]),
        (b"z\tt\ty\n" + ROWS.replace(b",", b"\t"), ["z", "t", "y"]),
        (b'"drug; yes; or; no",t,y\n' + ROWS, ["drug; yes; or; no", "t", "y"]),
        (b'"z, offered",t,"y"\n' + ROWS, ["z, offered", "t", "y"]),
        (b'"offered\nor not",t,y\n' + ROWS, ["offered\nor not", "t", "y"]),
        ("zugeteilt,behandelt,größe\n".encode() + ROWS, ["zugeteilt", "behandelt", "größe"]),
    ],
)
def test_headers_of_every_kind(tmp_path, monkeypatch, content, columns):
    frame = read(tmp_path, content)
    assert frame.columns == columns
    assert frame.rows() == [(0, 0, 1), (1, 1, 0)]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    assert read_table("-").equals(frame)


def test_missing_values_by_their_usual_names(tmp_path):
    frame = read(
        tmp_path, b"z,t,y\n" + b"".join(b"1,1,%b\n" % each for each in (b"NA", b"NaN", b".", b"null", b"", b"2"))
    )
    assert frame["y"].to_list() == [None] * 5 + [2]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "is empty; export the table again"),
        (b" \n\n\t\n", "is empty; export the table again"),
        (b"z,t,y,t\n0,0,1,1\n", "has more than one column named 't'; rename"),
        (b'z,t,"of\nday","of\nday"\n0,0,1,1\n', r"has more than one column named 'of\nday'; rename"),
        (b"z,t\n0,0\n", "has fewer than three columns, 'z,t'"),
        (b'"z,t,y",a\n0,0\n', "has fewer than three columns, 'z,t,y,a'"),
        (b"z,t,y\n0,0,\x011\n", "neither CSV nor Parquet; export"),
        (b'"never closed,t,y\n' + 50_000 * ROWS, "its first line cannot be read"),
    ],
)
def test_what_is_not_a_table(tmp_path, content, sentence):
    with pytest.raises(InputError) as refused:
        read(tmp_path, content)
    assert sentence in str(refused.value)


def test_a_path_is_taken_as_it_is_written(tmp_path, monkeypatch):
    """Not as a pattern, nor as a home folder."""
    monkeypatch.chdir(tmp_path)
    for name in ("trial[1].csv", "~trial.csv", "trial*.csv"):
        (tmp_path / name).write_bytes(b"z,t,y\n" + ROWS)
        assert read_table(name).shape == (2, 3)
    with pytest.raises(InputError, match=r"there is no file 'trial\?.csv'"):
        read_table("trial?.csv")
    with pytest.raises(InputError, match="cannot be read: Is a directory"):
        read_table(str(tmp_path))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe_can_be_read_only_once(tmp_path):
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(b"z,t,y\n" + ROWS,))
    writer.start()
    assert read_table(str(pipe)).shape == (2, 3)
    writer.join()


def test_the_content_is_in_memory_once_at_most(tmp_path, monkeypatch):
    """As Python counts it, which leaves out the table that polars makes. It was six times the file."""
    content = b"z,t,y,amount,site\n" + 250_000 * b"0,1,1,3.14159,north\n"
    path = tmp_path / "large.csv"
    path.write_bytes(content)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    read(tmp_path, b"z,t,y\n" + ROWS)  # the imports
    for source, copies in ((str(path), 0.1), ("-", 1.3)):
        tracemalloc.start()
        try:
            frame = read_table(source)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert frame.shape == (250_000, 5)
        assert peak < copies * len(content)


def test_a_long_second_line_is_not_read_for_the_header(tmp_path, monkeypatch):
    from ivicl.data.delimited import csv_header

    taken: list[int] = []

    class Counted(io.BytesIO):
        def readinto(self, buffer):
            taken.append(len(buffer))
            return super().readinto(buffer)

        def read(self, size=-1):
            found = super().read(size)
            taken.append(len(found))
            return found

        def read1(self, size=-1):
            found = super().read1(size)
            taken.append(len(found))
            return found

    stream = Counted(b"z,t,y\n0,0," + 5_000_000 * b"1")
    assert csv_header(stream, "it") == (",", ["z", "t", "y"])
    assert 0 < sum(taken) < 100_000
