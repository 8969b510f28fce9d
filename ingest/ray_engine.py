"""Reading, parsing, embedding and parts of linking on the machines of a Ray cluster.

The input is cut into pieces, and workers make a shard of each: a file in a folder that
all machines share. The process that was started stores them in the order of the input,
as it stores what it has read and embedded itself. What ends a run leaves its finished
shards; the next run makes the others.
"""

from __future__ import annotations

import json
import logging
import secrets
import shutil
import socket
import sys
from collections import deque
from contextlib import contextmanager, redirect_stdout, suppress
from dataclasses import asdict, dataclass
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from knowtrail.graph.errors import IngestError, InputError, KnowtrailError
from knowtrail.graph.extras import extra
from knowtrail.graph.files import held_file, private_folder, write_file
from knowtrail.graph.settings import Settings, environment, quiet_ray
from knowtrail.ingest.background import in_turn
from knowtrail.ingest.embedding import AT_ONCE
from knowtrail.ingest.keys import content_key
from knowtrail.ingest.records import Damage
from knowtrail.ingest.shards import (
    MANIFEST,
    TRIES,
    UNCHANGED,
    Order,
    ReadyDocument,
    ShardEmbedder,
    Work,
    check_code,
    code_key,
    prepare_shard,
    shard_items,
    shard_path,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
    from pathlib import Path

    from knowtrail.graph.cli.progress import Progress
    from knowtrail.ingest.records import Item, Source
    from knowtrail.ingest.sources._lines import Part

_LOCK, _SPILLED = "lock", "spilled"
_PROGRESS = {"_finished", "_current", "position", "size"}
"""What a source knows of a reading of it."""
_LOG = logging.getLogger(__name__)
SHARD = 8_000_000
"""Bytes of text that a shard is made of."""
FEW = 3
"""Parts from which on workers do them: what they share travels first."""
PROCESSES = 16
"""Of a cluster that do parts, at most: each holds what these share."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RayEngine:
    """Where and how documents are made ready, and their texts compared.

    Attributes:
        address: The cluster, `HOST:PORT`; None takes that of `RAY_ADDRESS`, else starts
            Ray on this machine, for as long as an ingest takes.
        gpus: What each process that embeds has of GPUs; with 0 processes embed that
            read and parse too.
        batch: Texts that the model is given at once.
        work: Folder that all machines share, at the same path; None takes the home
            folder.
        shard: Bytes of text that a shard is made of, about.
    """

    address: str | None = None
    gpus: float = 0
    batch: int = AT_ONCE
    work: Path | None = None
    shard: int = SHARD

    def folder(self, settings: Settings) -> Path:
        """Return the folder that all machines share."""
        return (self.work or settings.home / "work").expanduser().absolute()

    @contextmanager
    def shards(
        self,
        sources: Sequence[Source],
        order: Order,
        *,
        settings: Settings,
        progress: Progress,
    ) -> Iterator[Shards]:
        """Yield the sources as workers make them ready, while they do.

        Leaving the block without an error removes the shards.

        Raises:
            InputError: If another process works on the same shards, a source cannot be
                cut into pieces, or the cluster cannot be used.
        """
        folder = self.folder(settings) / f"ray-{content_key(order.corpus)}"
        pieces = list(_pieces(sources, self.shard))
        kinds = [_options_of(source) for source in sources]
        teller = settings.language_model if order.options.themes == "llm" else ""
        names = [
            content_key(order.key, teller, kinds[number], str(part))
            for number, part in pieces
        ]
        msg = f"Another process makes the shards in {folder}: wait for it."
        private_folder(folder)
        with held_file(folder / _LOCK, InputError(msg)):
            known = {_LOCK, *(shard_path(folder, name).name for name in names)}
            shutil.rmtree(folder / _SPILLED, ignore_errors=True)
            for path in folder.iterdir():
                if path.name not in known and path.is_file():
                    path.unlink()
            work = Work(
                sources=tuple(sources),
                order=order,
                folder=folder,
                token=secrets.token_hex(8),
                code=code_key(),
                settings=Settings(
                    language_model=settings.language_model,
                    ollama_url=settings.ollama_url,
                ),
                batch=self.batch,
            )
            _write_manifest(work, pieces, names)
            rows = [
                {"name": name, "source": number, "part": json.dumps(part)}
                for name, (number, part) in zip(names, pieces, strict=True)
                if not shard_path(folder, name).exists()
            ]
            with self._made(rows, work) as made:
                plan = [(n, p) for n, (_, p) in zip(names, pieces, strict=True)]
                unit = getattr(sources[0], "unit", "bytes")
                yield Shards(folder, plan, made, order, unit, progress)
            shutil.rmtree(folder / _SPILLED, ignore_errors=True)
            shutil.rmtree(folder)

    @contextmanager
    def _made(self, rows: list[dict[str, Any]], work: Work) -> Iterator[Iterator[str]]:
        """Yield the names of shards as they are made; start and stop Ray for all."""
        ray = ray_itself()
        ours = not ray.is_initialized()
        with redirect_stdout(sys.stderr):  # Ray tells of nodes that are gone
            if ours:
                self._connect(ray, work.folder / _SPILLED)
            names = self._names(ray, rows, work)
            try:
                yield names
            finally:
                names.close()
                if ours:
                    ray.shutdown()

    def mapped(
        self, call: Callable[[Any, Any], Any], parts: Iterable[Any], shared: Any
    ) -> Iterator[Any]:
        """Yield what workers make of parts, with what these share, in their order.

        It takes the Ray that makes shards: a process for each of its CPUs, `PROCESSES`
        at most. Where there are fewer parts than `FEW`, they are done here.
        """
        rest = iter(parts)
        few = list(islice(rest, FEW))
        if len(few) < FEW:
            yield from in_turn(call, few, shared)
            return
        ray, waiting, workers = ray_itself(), deque[Any](), list[Any]()
        size = min(PROCESSES, int(ray.cluster_resources().get("CPU", 1)) or 1)
        worker = ray.remote(
            max_restarts=10 * TRIES,
            max_task_retries=TRIES,
            scheduling_strategy="SPREAD",
        )(_Worker)
        try:
            given = [ray.put(shared)]
            for number, part in enumerate(chain(few, rest)):
                if number < size:
                    workers.append(worker.remote(call, given, code_key()))
                do = workers[number % size].do.options(name=call.__name__)
                waiting.append(do.remote(part))
                if len(waiting) > 2 * size:
                    yield ray.get(waiting.popleft())
            while waiting:
                yield ray.get(waiting.popleft())
        except ray.exceptions.RayError as error:
            raise _told(error) from error
        finally:  # they go with all that they hold
            with suppress(ray.exceptions.RayError):
                for one in workers if ray.is_initialized() else ():
                    ray.kill(one)

    def _connect(self, ray: Any, spilled: Path) -> None:
        options: dict[str, Any] = {"address": self.address}
        where = self.address or environment().get("RAY_ADDRESS")
        if not where:
            where = "this machine"
            options = {
                "address": "local",
                "_node_ip_address": "127.0.0.1",
                "include_dashboard": False,
                "object_spilling_directory": str(spilled),
            }
        host, _, port = where.removeprefix("ray://").rpartition(":")
        try:
            if port.isdecimal():  # Ray itself tries for minutes
                socket.create_connection((host, int(port)), timeout=10).close()
            ray.init(**options, log_to_driver=False, logging_level=logging.CRITICAL)
        except (RuntimeError, ValueError, OSError) as error:
            what = " ".join(str(error).split())
            raise InputError(
                f"The Ray cluster at {where} cannot be used: {what[:400]}. Check "
                "--ray-address, and that Ray and Python there are those of here."
            ) from error

    def _names(
        self, ray: Any, rows: list[dict[str, Any]], work: Work
    ) -> Generator[str]:
        if not rows:
            return
        there = ray.cluster_resources()
        room = there.get("GPU", 0) / self.gpus if self.gpus else there.get("CPU", 1)
        if room < 1:
            _LOG.warning("The cluster has no room to embed yet: it is waited for")
        ray.data.DataContext.get_current().enable_progress_bars = False
        made = (
            ray.data
            .from_items(rows, override_num_blocks=len(rows))
            .map(prepare_shard, fn_kwargs={"work": work})
            .map(
                ShardEmbedder,
                fn_constructor_kwargs={"work": work},
                num_gpus=self.gpus or None,
                compute=ray.data.ActorPoolStrategy(
                    min_size=1, initial_size=max(1, min(int(room), len(rows)))
                ),
            )
        )
        try:
            for row in made.iter_rows():
                yield row["name"]
        except Exception as error:
            raise _told(error) from error


class _Worker:
    """On a machine of the cluster, does parts of a call, with what these share."""

    def __init__(
        self, call: Callable[[Any, Any], Any], given: list[Any], code: str
    ) -> None:
        self._call, self._given, self._code = call, given, code
        self._shared: Any = None

    def do(self, part: Any) -> Any:
        """Return what the call makes of a part, by the code of the caller's machine."""
        check_code(self._code)
        if self._given:
            self._shared = ray_itself().get(self._given[0])
            self._given = []
        return self._call(part, self._shared)


def ray_itself() -> Any:
    """Return the package, told to send nothing to anybody, or `MissingExtraError`."""
    quiet_ray()
    with extra("ray", "--engine ray", otherwise=", or take --engine local"):
        import ray
    return ray


@dataclass(eq=False, repr=False)
class Shards:
    """The shards of a plan as one source, each waited for in its turn."""

    _folder: Path
    _plan: Sequence[tuple[str, Part]]
    _made: Iterator[str]
    _order: Order
    unit: str
    _progress: Progress
    position: int = 0

    def __post_init__(self) -> None:
        self.name = f"{len(self._plan)} shards"
        self.size: int | None = sum(part.weight for _, part in self._plan)

    def items(self) -> Iterator[Item | ReadyDocument]:
        """Yield what shards have, to a file's damage; `IngestError` if out of date."""
        done = {name for name, _ in self._plan if self._path(name).exists()}
        damaged = set()
        for name, part in self._plan:
            self._progress("shards", len(done), len(self._plan))
            while name not in done:
                done.add(next(self._made))
                self._progress("shards", len(done), len(self._plan))
            _LOG.info("Storing shard %s: %s from %d on", name, part.file, part.start)
            if part.file not in damaged:
                for item in shard_items(self._path(name)):
                    if isinstance(item, Damage):
                        damaged.add(part.file)
                    elif isinstance(item, ReadyDocument):
                        self._check(item)
                    yield item
            self.position += part.weight
        for _ in self._made:  # none is left, but workers are let go
            pass

    def _path(self, name: str) -> Path:
        return shard_path(self._folder, name)

    def _check(self, item: ReadyDocument) -> None:
        """Refuse a shard that left out a document which was deleted meanwhile."""
        if item.made == UNCHANGED and not self._order.has(item, item.hash):
            for other, _ in self._plan:
                self._path(other).unlink(missing_ok=True)
            raise IngestError(f"{item.title}: {UNCHANGED}.")


def _pieces(sources: Sequence[Source], size: int) -> Iterator[tuple[int, Part]]:
    for number, source in enumerate(sources):
        parts = getattr(source, "parts", None)
        if parts is None:
            raise InputError(
                f"{source.name} cannot be read in pieces: the engine ray takes dumps, "
                "JSON Lines and files, and all of them."
            )
        yield from ((number, part) for part in parts(size))


def _options_of(source: Source) -> str:
    """Return what a source was told, in words that are always the same."""
    found = vars(source).items()
    return repr(sorted((name, v) for name, v in found if name not in _PROGRESS))


def _write_manifest(
    work: Work, pieces: Sequence[tuple[int, Part]], names: Sequence[str]
) -> None:
    shards = [
        {"name": name, "source": number, **part._asdict()}
        for name, (number, part) in zip(names, pieces, strict=True)
    ]
    manifest = {
        "token": work.token,
        "code": work.code,
        "corpus": work.order.corpus,
        "options": asdict(work.order.options),
        "shards": shards,
    }
    write_file(work.folder / MANIFEST, json.dumps(manifest))


def _told(error: BaseException) -> Exception:
    """Return the error of ours that a worker raised, else what Ray says."""
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, KnowtrailError) and not hasattr(seen, "cause"):
            return seen
        seen = getattr(seen, "cause", None) or seen.__cause__
    last = str(error).strip().splitlines() or [type(error).__name__]
    return IngestError(f"Ray could not do its part: {last[-1][:400]}")
