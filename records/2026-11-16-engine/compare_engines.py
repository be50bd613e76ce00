"""One GROUP BY over the same files in polars' streaming engine and in DuckDB: seconds, CPU seconds and peak memory.

python compare_engines.py FOLDER ROWS.csv ROWS.csv.gz: each pair in a process of its own.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time

KEYS = ["offered", "saw", "bought", "age", "region"]


def by_polars(path: str) -> int:
    import polars as pl

    if path.endswith("parquet"):
        frame = pl.scan_parquet(path)
    else:
        frame = pl.scan_csv(path, infer_schema_length=None if "typed" in sys.argv else 0)
    return len(frame.group_by(KEYS).agg(pl.len()).collect(engine="streaming"))


def by_duckdb(path: str) -> int:
    import duckdb

    duckdb.sql("SET threads = 2")
    source = f"'{path}'" if path.endswith("parquet") else f"read_csv('{path}', all_varchar = true)"
    return len(duckdb.sql(f"SELECT {', '.join(KEYS)}, count(*) FROM {source} GROUP BY ALL").fetchall())


if __name__ == "__main__":
    if sys.argv[1] in ("polars", "duckdb"):
        start = time.perf_counter()
        found = {"polars": by_polars, "duckdb": by_duckdb}[sys.argv[1]](sys.argv[2])
        used = resource.getrusage(resource.RUSAGE_SELF)
        cpu = used.ru_utime + used.ru_stime
        figures = {"seconds": time.perf_counter() - start, "cpu": cpu, "peak_mb": used.ru_maxrss / 1e3, "groups": found}
        print(json.dumps({key: round(value, 1) for key, value in figures.items()}))
    else:
        for path in (f"{sys.argv[1]}/*.parquet", *sys.argv[2:]):
            for engine in ("polars", "duckdb"):
                done = subprocess.run([sys.executable, __file__, engine, path], capture_output=True, text=True)
                print(path.rsplit("/", 1)[-1], engine, done.stdout.strip() or done.stderr.strip()[-200:])
