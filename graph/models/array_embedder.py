"""What the embedders of the product are made of: arrays first, lists from these."""

from __future__ import annotations

import logging
import threading
from abc import ABC, abstractmethod
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Any

from knowtrail.graph.batches import batched
from knowtrail.graph.models.model_files import ModelOfFiles

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy as np
    import numpy.typing as npt

    Vectors = npt.NDArray[np.float32]

_LOADING_LOG = logging.getLogger("knowtrail.graph.models.embedders.loading")
_FEWEST_TOKENS = (64, 16)
"""Tokens of a call of a model, without and with AVX-512: for fewer, matrix kernels of
MKL round otherwise. Measured with MiniLM on one kind of Intel CPU, in both modes."""
_MOST_TOKENS = 8192
_TOKENISED_AT_ONCE = 64

QUERY_PROMPTS = {
    "mixedbread-ai/mxbai-embed-large-v1": (
        "Represent this sentence for searching relevant passages: "
    )
}


class ArrayEmbedder(ABC):
    """An embedder that makes arrays; lists come from these."""

    name: str
    query_prompt = ""

    @property
    def loaded(self) -> bool:
        """Say whether the model is in this process."""
        return True

    @abstractmethod
    def embed_array(self, texts: list[str]) -> Vectors:
        """Return vectors as a float32 array of shape (texts, dimensions)."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return one vector a text."""
        rows: list[list[float]] = self.embed_array(texts).tolist()
        return rows

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of a question, with the model's query prompt."""
        return self.embed_documents([self.query_prompt + text])[0]


class _OneThread:
    """Lets torch use one thread in a `with`, which gives the number of threads before.

    That makes the order of additions the same everywhere, and where all processors are
    busy threads of one small product wait for each other: a question took 27 to 42 ms
    on one and over 700 on two, beside nine other processes on two processors.
    """

    # Torch keeps the number by thread and partly for all, so it is that before the
    # first `with` that the last one brings back.

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._before = 1

    def __enter__(self) -> int:
        import torch

        with self._lock:
            if not self._inside:
                self._before = torch.get_num_threads()
            if not self._inside and self._before == 1:
                # Or torch met this thread while another was inside: a new one has the
                # number of all.
                with ThreadPoolExecutor(1) as new:
                    self._before = new.submit(torch.get_num_threads).result()
            self._inside += 1
        torch.set_num_threads(1)
        return self._before

    def __exit__(self, *_: object) -> None:
        import torch

        torch.set_num_threads(self._before)
        with self._lock:
            self._inside -= 1


_ONE_THREAD = _OneThread()


class LocalEmbedder(ModelOfFiles, ArrayEmbedder):
    """A sentence-transformers model, loaded at first use; it travels without that.

    `name` is what is recorded, `query_prompt` put before queries, not before documents;
    None takes what is known of the model. A batch has 16 texts, on a GPU 256 where the
    model reads at most 512 tokens of each; bfloat16 weights are faster on some CPUs.
    """

    _kind = "embedding model"

    def __init__(
        self,
        place: str,
        *,
        name: str | None = None,
        query_prompt: str | None = None,
        batch_size: int | None = None,
        bf16: bool = False,
    ) -> None:
        self.name = name or place
        self._place = place
        self.query_prompt = (
            QUERY_PROMPTS.get(place, "") if query_prompt is None else query_prompt
        )
        self._batch_size = batch_size
        self._bf16 = bf16

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"_model": None}

    def _load(self) -> Any:
        _LOADING_LOG.info("Loading embedding model %s", self._place)
        return super()._load()

    def _opened(self, place: str, *, local: bool) -> Any:
        from sentence_transformers import SentenceTransformer

        kwargs: dict[str, Any] = {"device": None}
        if self._bf16:
            kwargs["model_kwargs"] = {"dtype": "bfloat16"}
        return SentenceTransformer(place, local_files_only=local, **kwargs)

    @property
    def dimensions(self) -> int:
        """Return the length of the vectors."""
        model = self.model
        get = getattr(model, "get_embedding_dimension", None) or (
            model.get_sentence_embedding_dimension
        )
        if (found := get()) is None:  # the model does not know
            found = self.embed_array(["dimensions"]).shape[1]
        return int(found)

    def embed_array(self, texts: list[str]) -> Vectors:
        """Return vectors as a float32 array of shape (texts, dimensions).

        On a CPU the vector of a model that ends with the pooling of tokens depends on
        its text alone, not on what else is embedded, in which parts and on how many
        threads: each call of the model has texts of one length, which need no padding,
        and one thread. Layers behind the pooling, and bfloat16, may round otherwise.
        """
        import numpy as np
        import torch

        lengths = self._lengths(texts)
        if not lengths:
            return self._encode(texts, self.batch_size)
        few = _FEWEST_TOKENS[torch.backends.cpu.get_cpu_capability() == "AVX512"]

        def encoded(part: list[int]) -> Vectors:
            times = -(-few // (lengths[part[0]] * len(part)))
            found = self._encode([texts[i] for i in part] * times, len(part) * times)
            return found[: len(part)]

        with ExitStack() as stack:
            threads = stack.enter_context(_ONE_THREAD)
            parts = list(_alike(lengths, self.batch_size, threads, few))
            run: Any = map
            if len(parts) > 1:
                alone = partial(torch.set_num_threads, 1)
                pool = ThreadPoolExecutor(threads, initializer=alone)
                run = stack.enter_context(pool).map
            vectors = np.concatenate(list(run(encoded, parts)))
        return vectors[np.argsort([i for part in parts for i in part])]

    def _encode(self, texts: list[str], batch_size: int) -> Vectors:
        import numpy as np

        vectors = self.model.encode(
            texts,
            batch_size=batch_size,
            show_progress_bar=False,
            convert_to_numpy=True,
        )
        return np.asarray(vectors, dtype=np.float32)

    def _lengths(self, texts: list[str]) -> list[int]:
        """Return how many tokens texts have, [] where the model does not pad these."""
        model = self.model
        if not texts or model.device.type != "cpu":
            return []
        prompt = model.prompts.get(model.default_prompt_name)
        tokenised = partial(model.preprocess, prompt=prompt)
        if "attention_mask" not in tokenised(texts[:1]):
            return []
        masks = (
            tokenised(part)["attention_mask"]
            for part in batched(texts, _TOKENISED_AT_ONCE)
        )
        return [n for mask in masks for n in mask.sum(1).clamp(min=1).tolist()]


def _alike(
    lengths: Sequence[int], most: int, threads: int, few: int
) -> Iterator[list[int]]:
    """Yield the places of texts of one length, longest first, for all threads.

    A part has at most `most` texts and `_MOST_TOKENS` tokens, and where there are so
    many `few` tokens; lengths are parted where there are fewer of them than threads.
    """
    alike: dict[int, list[int]] = {}
    for place, length in enumerate(lengths):
        alike.setdefault(length, []).append(place)
    shares = -(-threads // len(alike))
    for length, places in sorted(alike.items(), reverse=True):
        size = max(-(-len(places) // shares), -(-few // length))
        yield from batched(places, min(size, most, max(1, _MOST_TOKENS // length)))
