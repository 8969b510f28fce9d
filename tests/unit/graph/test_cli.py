"""The command line: quick, helpful, and without tracebacks."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
from importlib import import_module
from typing import TYPE_CHECKING

import click
import pytest
from click.testing import CliRunner

from knowtrail.graph.cli.groups import NearGroup
from knowtrail.graph.cli.root import _ADDED, _COMMANDS, _UNDER, knowtrail, main
from knowtrail.graph.errors import UnreachableError
from tests.cases import each
from tests.command_line import PROGRAM, ROOT, spawn

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

HEAVY = ("neo4j", "torch", "numpy", "rich", "langchain_core", "pydantic", "httpx")
BUDGET_SECONDS = 0.3


COMMANDS = [
    (),
    ("quickstart",),
    ("completion",),
    ("server",),
    ("server", "install"),
    ("server", "start"),
    ("server", "stop"),
    ("server", "status"),
    ("server", "logs"),
    ("server", "dump"),
    ("server", "load"),
    ("cypher",),
    ("ingest",),
    ("ingest", "wikipedia"),
    ("ingest", "dump"),
    ("ingest", "jsonl"),
    ("ingest", "files"),
    ("ingest", "custodians"),
    ("corpus",),
    ("corpus", "list"),
    ("corpus", "show"),
    ("corpus", "delete"),
    ("corpus", "forget"),
    ("corpus", "verify"),
    ("corpus", "snapshot"),
    ("search",),
    ("compare",),
    ("traverse",),
    ("ask",),
    ("extract",),
    ("dataset",),
    ("dataset", "generate"),
    ("dataset", "convert"),
    ("view",),
    ("view", "battles"),
    ("view", "uml"),
    ("view", "graph"),
    ("view", "index"),
    ("view", "matrix"),
    ("view", "path"),
    ("view", "style"),
    ("eval",),
    ("explore",),
    ("eval", "fields"),
    ("eval", "retrieval"),
    ("eval", "skn"),
    ("eval", "zelo"),
    ("eval", "zelo", "annotate"),
    ("eval", "zelo", "benchmark"),
    ("eval", "zelo", "export"),
    ("eval", "zelo", "import"),
    ("eval", "zelo", "inspect"),
    ("eval", "zelo", "judges"),
    ("eval", "zelo", "rerank"),
    ("eval", "zelo", "train"),
    ("eval", "specificity"),
    ("serve",),
    ("mcp",),
    ("research",),
    ("export",),
    ("export", "bulk"),
    ("rdf",),
    ("rdf", "export"),
    ("rdf", "import"),
    ("rdf", "query"),
    ("schema",),
    ("schema", "show"),
    ("schema", "apply"),
    ("schema", "drop"),
    ("schema", "user"),
    ("doctor",),
]


def _run(*arguments: str, stdin: str = "", **env: str) -> subprocess.CompletedProcess:
    """Run the command line in a process of its own."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("NEO4J", "KNOW"))}
    return subprocess.run(
        [*PROGRAM, *arguments],
        capture_output=True,
        check=False,
        cwd=ROOT,
        env=clean | env,
        input=stdin,
        text=True,
        timeout=60,
    )


def _exit_code(*arguments: str) -> int:
    """Run the command line in this process and return its exit code."""
    with pytest.raises(SystemExit) as stopped:
        main(list(arguments))
    return int(stopped.value.code or 0)


@each("words", COMMANDS)
def test_every_command_has_help(words: tuple[str, ...]) -> None:
    """Help comes without a server, a model or a setting."""
    result = CliRunner().invoke(knowtrail, [*words, "--help"])

    assert result.exit_code == 0
    assert "Usage:" in result.stdout


def test_help_imports_nothing_heavy() -> None:
    """Asking for help costs no driver, model library or table drawing.

    One process asks for all help; who is named first imported it.
    """
    code = (
        "import sys\n"
        "from knowtrail.graph.cli.root import main\n"
        f"for words in {COMMANDS!r}:\n"
        "    try:\n"
        "        main([*words, '--help'])\n"
        "    except SystemExit:\n"
        "        pass\n"
        f"    if heavy := set({HEAVY!r}) & set(sys.modules):\n"
        "        sys.exit(f'{words} imports {heavy}')\n"
    )

    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("Usage:") == len(COMMANDS)


def test_help_is_quick() -> None:
    """`knowtrail --help` takes at most 0.3 s more than a bare interpreter."""

    def used() -> float:
        children = resource.getrusage(resource.RUSAGE_CHILDREN)
        return children.ru_utime + children.ru_stime

    def seconds(*words: str) -> float:
        before = used()
        subprocess.run(words, cwd=ROOT, check=True, capture_output=True)
        return used() - before

    # The processor's time, the best of several: other work only ever adds.
    help_seconds = min(seconds(*PROGRAM, "--help") for _ in range(7))
    bare_seconds = min(seconds(sys.executable, "-c", "pass") for _ in range(7))

    assert help_seconds - bare_seconds < BUDGET_SECONDS


def _command(words: tuple[str, ...]) -> click.Command | None:
    """Return the command that is called with some words."""
    command: click.Command | None = knowtrail
    for word in words:
        assert isinstance(command, click.Group)
        command = command.get_command(click.Context(command), word)
    return command


def _words(
    words: tuple[str, ...], command: click.Command | None
) -> set[tuple[str, ...]]:
    """Return the words of a command and of everything below it."""
    found = {words}
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            found |= _words((*words, name), command.get_command(context, name))
    return found


def test_no_command_is_left_out_of_these_tests() -> None:
    """The list above is what there is."""
    found = {()}
    for name, (place, _) in _COMMANDS.items():
        module, _, attribute = place.partition(":")
        home = import_module(f"knowtrail.{module}")
        found |= _words((name,), getattr(home, attribute))

    found |= {
        (name, place.partition(":")[2])
        for name, places in _ADDED.items()
        for place in places
    }

    assert found == set(COMMANDS)


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (("serch", "x"), "No command 'serch'. Did you mean 'search'? See knowtrail -"),
        (("ingest", "jsnl", "x"), "Did you mean 'jsonl'? See knowtrail ingest --help."),
        (("corpus", "snapshto"), "Did you mean 'snapshot'?"),
        (("eval", "retreival"), "Did you mean 'retrieval'?"),
        (("eval", "zelo", "Anotate"), "Did you mean 'annotate'?"),
        (("dataset", "zzz"), "No command 'zzz'. See knowtrail dataset --help."),
    ],
)
def test_unknown_command_suggests_one(
    arguments: tuple[str, ...], hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A misspelt command is a mistake of the user's, and a near one is named."""
    code = _exit_code(*arguments)

    assert code == 2
    assert hint in capsys.readouterr().err


def test_every_group_names_near_commands() -> None:
    """No group was forgotten."""
    groups = [c for c in map(_command, COMMANDS) if isinstance(c, click.Group)]

    assert len(groups) > 8
    assert [c.name for c in groups if not isinstance(c, NearGroup)] == []


def test_help_lists_every_command_once_under_a_heading() -> None:
    """No command is missing from the list, or in it twice."""
    listed = [name for names in _UNDER.values() for name in names]

    assert sorted(listed) == sorted(_COMMANDS)


def test_summaries_are_whole() -> None:
    """No line of a list of commands ends in dots."""
    groups = [words for words in COMMANDS if isinstance(_command(words), click.Group)]

    told = [CliRunner().invoke(knowtrail, [*w, "--help"]).stdout for w in groups]

    cut = [text for text in told if "...\n" in text.replace("[ARGS]...\n", "")]
    assert (len(told) > 8, cut) == (True, [])


def test_unknown_option_is_a_mistake() -> None:
    """An option that does not exist exits 2."""
    assert _exit_code("cypher", "--nope") == 2


def test_no_command_shows_help(capsys: pytest.CaptureFixture[str]) -> None:
    """Called alone, the command says what it can do."""
    _exit_code()

    assert "Start:" in "".join(capsys.readouterr())


def test_version_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    """The version is the package's."""
    assert _exit_code("--version") == 0
    assert "knowtrail" in capsys.readouterr().out


@each(
    ("arguments", "message"),
    [
        (("cypher",), "Give one statement"),
        (("cypher", "RETURN 1", "--saved", "documents"), "Give one statement"),
        (("cypher", "RETURN 1", "--csv", "--json"), "Choose one of"),
        (("cypher", "RETURN 1", "-p", "x"), "write key=value"),
        (("cypher", "RETURN 1", "-p", "x=1", "-p", "x=2"), "given twice"),
        (("cypher", "RETURN 1", "-p", f"x={2**63}"), "64 bits"),
        (("cypher", "--saved", "mentoins"), "did you mean 'mentions'?"),
        (("cypher", "--saved", "mentions", "-p", "tilte=x"), "its parameters: corpus"),
        (("schema", "apply", "--dimensions", "0"), "1<=x<=4096"),
        (("--config", "/nowhere.toml", "doctor"), "No such file"),
        (("--uri", "http://127.0.0.1", "cypher", "RETURN 1"), "write bolt://HOST:PORT"),
        (("--uri", "bolt://a:b@c", "cypher", "RETURN 1"), "has a user name in it"),
    ],
)
def test_mistakes_exit_2_with_one_line(
    arguments: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """What the user can mend is said in one line that begins with Error."""
    code = _exit_code(*arguments)

    errors = [
        line
        for line in capsys.readouterr().err.splitlines()
        if line.startswith("Error")
    ]
    assert code == 2
    assert len(errors) == 1
    assert message in errors[0]


@pytest.mark.parametrize(
    ("name", "content", "command", "message"),
    [
        ("a.jsonl", b"no JSON\n[]\n", "jsonl", "No line of a.jsonl is a usable record"),
        ("a.txt", b"\0", "files", "Nothing in"),
        ("a.xml", b"<html></html>", "dump", "a.xml"),
    ],
)
def test_input_of_no_use_needs_no_server(
    tmp_path: Path,
    name: str,
    content: bytes,
    command: str,
    message: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """It is looked at first: one line, before a server or a model is needed."""
    (tmp_path / name).write_bytes(content)
    path = tmp_path if command == "files" else tmp_path / name

    code = _exit_code(
        "--uri", "bolt://127.0.0.1:9", "ingest", command, str(path), "--corpus", "c"
    )

    written = capsys.readouterr()
    assert (code, written.out, len(written.err.splitlines())) == (2, "", 1)
    assert message in written.err


def test_embedder_of_no_use_needs_no_server(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A provider without a model is one line, before a server is needed."""
    (tmp_path / "a.txt").write_text("Ice is cold.", "utf-8")
    words = ("ingest", "files", str(tmp_path), "--corpus", "c")

    code = _exit_code("--uri", "bolt://127.0.0.1:9", "--embedder", "hash", *words)

    said = "Error: Embedder 'hash': write hash:N with N from 1 to 4096.\n"
    assert (code, capsys.readouterr().err) == (2, said)


def test_failure_exits_1_without_traceback() -> None:
    """A server that is not there is one line on stderr and nothing on stdout."""
    done = _run("--uri", "bolt://127.0.0.1:9", "cypher", "RETURN 1")

    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (1, "", 1)
    assert "does not answer" in done.stderr


def test_debug_shows_the_traceback() -> None:
    """With --debug the same failure says where it came from."""
    done = _run("--debug", "--uri", "bolt://127.0.0.1:9", "cypher", "RETURN 1")

    assert "Traceback" in done.stderr
    assert "UnavailableError" in done.stderr


def test_only_what_is_wrong_is_told_as_a_warning() -> None:
    """What `serve` logs of a request that went well is a plain line."""
    script = (
        "import logging; from knowtrail.graph.cli.root import main\n"
        "try: main(['cypher', '--list'])\n"
        "except SystemExit: log = logging.getLogger('knowtrail.retrieval.serve')\n"
        "log.setLevel('INFO'); log.info('GET 200'); log.warning('GET 404')"
    )

    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )

    assert done.stderr.splitlines() == ["GET 200", "Warning: GET 404"]


def test_defect_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Even an error that nobody foresaw shows no traceback."""

    def break_down(*_: object, **__: object) -> None:
        raise ZeroDivisionError("by\nzero")

    monkeypatch.setattr("knowtrail.graph.cli.root.knowtrail.main", break_down)

    code = _exit_code("doctor")

    assert code == 1
    assert capsys.readouterr().err.startswith(
        "Error: unexpected ZeroDivisionError: by zero"
    )


def test_reader_that_leaves_is_no_error_message() -> None:
    """A pipe that is closed early ends the command in silence."""
    script = f"'{sys.executable}' -m knowtrail.graph.cli.root cypher --list | true"

    done = subprocess.run(
        ["bash", "-c", script], capture_output=True, text=True, cwd=ROOT, check=False
    )

    assert done.stderr == ""


def test_saved_queries_are_listed() -> None:
    """Each saved query has a name, a title and its parameters."""
    result = CliRunner().invoke(knowtrail, ["cypher", "--list", "--json"])

    rows = {row["name"]: row for row in json.loads(result.stdout)}
    assert len(rows) >= 6
    assert rows["mentions"]["params"] == ["corpus", "title", "limit"]


def test_listed_queries_are_commands_as_they_have_to_be_typed(tmp_path: Path) -> None:
    """With the folder of the server, where that is another one."""
    result = CliRunner().invoke(
        knowtrail, ["--home", str(tmp_path), "cypher", "--list"]
    )

    commands = [line for line in result.stdout.splitlines() if line.startswith("  ")]
    own = f"knowtrail --home {tmp_path} cypher --saved "
    assert len(commands) >= 6
    assert [line for line in commands if own not in line] == []


@each("limit", ["x", "-1", "1.5", "[1]", "true"])
def test_limit_of_a_saved_query_is_a_number(limit: str) -> None:
    """Refused before a server is asked, whose message would name objects of Java."""
    words = ["cypher", "--saved", "conversations", "-p", f"limit={limit}"]
    result = CliRunner().invoke(knowtrail, words)

    assert "give a whole number of rows" in str(result.exception)


def test_other_numbers_of_saved_queries_are_numbers() -> None:
    """A text in their place would find nothing in silence."""
    for name, given, told in (
        ("extraction_causal_chains", "links=x", "links is 'x': give a whole number."),
        ("extraction_doubtful_facts", "confidence=x", "give a number."),
    ):
        words = ["cypher", "--saved", name, "-p", given]
        assert told in str(CliRunner().invoke(knowtrail, words).exception)


def test_password_file_is_read(tmp_path: Path) -> None:
    """The password's first line counts; it is never an argument."""
    result = CliRunner().invoke(
        knowtrail,
        ["--password-file", str(tmp_path / "none"), "cypher", "--list"],
    )

    assert "Cannot read a password" in str(result.exception)


def test_standard_input_must_be_text() -> None:
    """A statement that is not UTF-8 is refused with the place."""
    done = subprocess.run(
        [*PROGRAM, "cypher", "-"],
        input=b"RETURN '\xff'",
        capture_output=True,
        cwd=ROOT,
        check=False,
    )

    assert done.returncode == 2
    assert b"not UTF-8" in done.stderr


@pytest.mark.parametrize(
    ("by", "usual", "code"),
    [
        (signal.SIGINT, signal.default_int_handler, 130),
        (signal.SIGTERM, signal.SIG_DFL, 143),
    ],
)
def test_ctrl_c_that_becomes_another_error_is_still_ctrl_c(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    by: signal.Signals,
    usual: Any,
    code: int,
) -> None:
    """An import that a signal breaks off may raise what it likes: it was the signal."""

    def broken(*_: object, **__: object) -> None:
        try:
            signal.raise_signal(by)
        except KeyboardInterrupt as error:
            msg = "half an import"
            raise ImportError(msg) from error

    monkeypatch.setattr(knowtrail, "main", broken)
    # As in a terminal: jobs in the background of a shell ignore Ctrl-C.
    before = signal.signal(by, usual)

    try:
        with pytest.raises(SystemExit) as ended:
            main(["doctor"])
        assert signal.getsignal(by) is usual
    finally:
        signal.signal(by, before)

    assert ended.value.code == code
    assert capsys.readouterr().err == "Interrupted.\n"


@pytest.mark.parametrize(
    ("error", "code", "told"),
    [
        (click.exceptions.Abort(), 2, "Nothing was done: answer y, or give --yes.\n"),
        (EOFError("half a file"), 1, "Error: unexpected EOFError: half a file."),
        (KeyboardInterrupt(), 130, "Interrupted.\n"),
        (UnreachableError("No answer."), 1, "Error: No answer.\n"),
    ],
)
def test_what_ends_a_command_decides_its_exit_code(
    error: BaseException,
    code: int,
    told: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Click makes one exception of no, of the end of a file, and of Ctrl-C.

    A wiki that does not answer is nothing that its user can mend.
    """

    def fail(**_: object) -> None:
        raise error

    monkeypatch.setattr(_command(("doctor",)), "callback", fail)

    assert _exit_code("doctor") == code
    assert told in capsys.readouterr().err


@each(
    ("typed", "found"),
    [
        ("knowtrail co", ["completion", "compare", "corpus"]),
        ("knowtrail corpus sh", ["show"]),
        ("knowtrail server st", ["start", "status", "stop"]),
        ("knowtrail ask --corp", ["--corpus"]),
        ("knowtrail search --algorithm a", ["auto"]),
        ("knowtrail ask --algorithm kg", ["kg_traversal"]),
        ("knowtrail traverse --algorithm llm", ["llm_guided_traversal"]),
        ("knowtrail compare --algorithm basic", ["basic_retrieval"]),
        ("knowtrail view path --algorithm query", ["query_traversal"]),
        ("knowtrail cypher --saved conversations", ["conversations"]),
        ("knowtrail cypher --saved traversal_s", ["traversal_steps"]),
    ],
)
def test_shells_complete_commands_and_options(typed: str, found: list[str]) -> None:
    """What the printed script asks for is answered, without loading what is heavy."""
    words = {"COMP_WORDS": typed, "COMP_CWORD": str(typed.count(" "))}
    code = "import sys\nfrom knowtrail.graph.cli.root import main\n"
    code += "try:\n    main([])\nfinally:\n"
    code += f"    print('heavy', set({HEAVY!r}) & set(sys.modules))\n"

    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | words | {"_KNOWTRAIL_COMPLETE": "bash_complete"},
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )

    *lines, heavy = done.stdout.splitlines()
    assert sorted(line.removeprefix("plain,") for line in lines) == sorted(found)
    assert heavy == "heavy set()"


@each("shell", ["bash", "zsh", "fish"])
def test_completion_prints_what_the_shell_reads(shell: str) -> None:
    """The script asks this program, under the name that it is installed by."""
    done = CliRunner().invoke(knowtrail, ["completion", shell])

    assert done.exit_code == 0
    assert f"_KNOWTRAIL_COMPLETE={shell}_complete" in done.output


def test_commands_in_errors_are_those_to_type(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A message of a layer below knows neither the folder nor how we were called."""
    monkeypatch.setenv("UV_RUN_RECURSION_DEPTH", "1")
    monkeypatch.delenv("KNOWTRAIL_HOME", raising=False)

    def fail(*_: object, **__: object) -> None:
        msg = "No '/srv/knowtrail x': use knowtrail corpus list, or knowtrail ingest."
        raise UnreachableError(msg)

    monkeypatch.setattr("knowtrail.graph.doctor.examine", fail)

    assert _exit_code(f"--home={tmp_path}", "doctor") == 1

    own = f"uv run knowtrail --home {tmp_path}"
    assert capsys.readouterr().err == (
        f"Error: No '/srv/knowtrail x': use {own} corpus list, or {own} ingest.\n"
    )


def test_only_the_driver_is_spared_pandas() -> None:
    """What a command imports after the driver, such as ir_measures, may need it."""
    script = (
        "import sys\n"
        "from knowtrail.graph.cli import root as cli\n"
        "with cli._driver_without_pandas():\n"
        "    import neo4j\n"
        "    assert 'pandas' not in sys.modules\n"
        "    import pandas\n"
    )

    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )

    assert done.stderr == ""


def test_an_option_of_the_root_after_a_command_says_where_it_stands() -> None:
    """Not a near name: it is there, before the command."""
    after = spawn("quickstart", "--home", "elsewhere")
    unknown = spawn("quickstart", "--pictur", "x.html")

    assert after.code == unknown.code == 2
    assert "--home stands before the command: knowtrail --home ... COMMAND" in " ".join(
        after.errors
    )
    assert "--picture" in " ".join(unknown.errors)
