"""Files that people write and read: one mechanism for each form."""

from knowtrail.graph.files.lines import (
    json_value,
    read_json,
    read_json_lines,
    read_lines,
    text_encoding,
)
from knowtrail.graph.files.whole import (
    check_output,
    disk_errors,
    file_digest,
    held_file,
    locking,
    private,
    private_folder,
    whole_bytes,
    whole_file,
    write_file,
)

__all__ = [
    "check_output",
    "disk_errors",
    "file_digest",
    "held_file",
    "json_value",
    "locking",
    "private",
    "private_folder",
    "read_json",
    "read_json_lines",
    "read_lines",
    "text_encoding",
    "whole_bytes",
    "whole_file",
    "write_file",
]
