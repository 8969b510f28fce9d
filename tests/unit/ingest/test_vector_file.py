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

    with VectorFile(tmp_path / "new") as file:
        file.extend(zip("aba", keys, vectors, strict=True))

        assert len(file) == 3
        assert np.array_equal(file.vectors, vectors)
        assert [file.key(row) for row in range(3)] == keys
        assert file.groups.tolist() == [0, 1, 0]
        assert file.group_names == ["a", "b"]
        assert file.ranks.tolist() == [2, 0, 1]


def test_empty_file_has_no_vectors(tmp_path):
    """A corpus without vectors gives arrays of length 0."""
    with VectorFile(tmp_path) as file:
        file.extend([])

        assert (len(file), len(file.vectors), len(file.ranks)) == (0, 0, 0)


def test_file_has_no_name_to_be_left_behind(tmp_path):
    """Nothing is in the folder, however the process ends."""
    with VectorFile(tmp_path) as file:
        file.extend([("a", "00" * 16, np.ones(4, dtype=np.float32))])

        assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EFBIG, errno.EACCES])
def test_lack_of_space_or_rights_is_told_clearly(tmp_path, number):
    """The message names the folder; other errors pass."""
    with pytest.raises(StorageError, match=str(tmp_path)), storage_errors(tmp_path):
        raise OSError(number, "no")
    with pytest.raises(FileNotFoundError), storage_errors(tmp_path):
        raise FileNotFoundError(errno.ENOENT, "gone")
