"""Vectors come back from the file as they went in."""

from __future__ import annotations

import errno

import numpy as np
import pytest

from knowtrail.graph.errors import StorageError
from knowtrail.ingest.vector_file import VectorFile, storage_errors


def test_rows_come_back_in_order(tmp_path):
    """Vectors, keys, groups and the order of keys are kept."""
    vectors = np.arange(12, dtype=np.float32).reshape(3, 4)
    keys = ["ff" * 16, "00" * 16, "00" * 8 + "01" * 8]

    with VectorFile(tmp_path / "new", "made") as file:
        file.extend(zip("aba", keys, vectors, strict=True))

        assert len(file) == 3
        assert np.array_equal(file.vectors, vectors)
        assert [file.key(row) for row in range(3)] == keys
        assert file.groups.tolist() == [0, 1, 0]
        assert file.group_names == ["a", "b"]
        assert file.ranks.tolist() == [2, 0, 1]


def test_empty_file_has_no_vectors(tmp_path):
    """A corpus without vectors gives arrays of length 0."""
    with VectorFile(tmp_path, "made") as file:
        file.extend([])

        assert (len(file), len(file.vectors), len(file.ranks)) == (0, 0, 0)


def test_what_was_kept_is_resumed_if_it_is_the_same(tmp_path):
    """All comes back but what came later; another state, or damage, empties it."""
    vectors = np.arange(8, dtype=np.float32).reshape(2, 4)
    keys = ["ff" * 16, "00" * 16]
    with VectorFile(tmp_path, "made") as file:
        file.extend(zip("ab", keys, vectors, strict=True))
        file.floors[1] = 0.5
        file.keep("one", whole=True)
        file.done = 1
        file.extend([("c", "11" * 16, vectors[0])])

    with VectorFile(tmp_path, "made") as file:
        assert file.resume("one")
        assert (file.done, file.group_names, file.key(1)) == (1, ["a", "b"], keys[1])
        assert np.array_equal(file.vectors, vectors)
        assert (file.floors[1], file.whole) == (0.5, True)
        assert not file.resume("other")
        assert (len(file), file.done) == (0, 0)
        file.extend([("a", keys[0], vectors[0])])
        file.keep("one", whole=False)

    (tmp_path / "made.rows").write_bytes(b"no archive")
    with VectorFile(tmp_path, "made") as file:
        assert not file.resume("one")
        file.remove()
    assert list(tmp_path.iterdir()) == []


def test_rows_are_found_by_key_and_group_until_they_go(tmp_path):
    """A key that comes again has a row of its own."""
    vectors = np.arange(8, dtype=np.float32).reshape(2, 4)
    keys = ["ff" * 16, "ff" * 8 + "00" * 8]
    with VectorFile(tmp_path, "made") as file:
        file.extend(zip("ab", keys, vectors, strict=True))
        assert file.rows_with(keys) == {keys[0]: 0, keys[1]: 1}
        file.drop(file.rows_in(["a", "unknown"]))
        file.extend([("a", keys[0], vectors[1])])

        assert file.groups.tolist() == [-1, 1, 0]
        assert file.rows_with(keys[:1]) == {keys[0]: 2}
        assert file.rows_in(["a"]).tolist() == [2]
        assert np.isnan(file.floors[2])


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EFBIG, errno.EACCES])
def test_lack_of_space_or_rights_is_told_clearly(tmp_path, number):
    """The message names the folder; other errors pass."""
    with pytest.raises(StorageError, match=str(tmp_path)), storage_errors(tmp_path):
        raise OSError(number, "no")
    with pytest.raises(FileNotFoundError), storage_errors(tmp_path):
        raise FileNotFoundError(errno.ENOENT, "gone")
