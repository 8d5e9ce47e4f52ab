"""One walk through the verbs of `mnem`, which says the same on a store of every kind."""

import re
import shlex

from click.testing import CliRunner

from mnemosyne_vcs.cli.app import mnem

WALK = """
init
init
status
put customers/4821 '{"plan": "Team", "seats": 10}' --embedding '[1, 0]' --source ticket-1
put customers/5120 '{"plan": "Free"}' --embedding '[0.6, 0.8]' --source ticket-2 --agent scout
put notes/1 '"a text"' --derived-from customers/4821 --json
put notes/2 --text 'another text'
ls
ls -l -r
show notes/1
show nope
search --like customers/4821
search --like customers/4821 --prefix notes/ --json
branch what-if
put -b what-if customers/4821 '{"plan": "Team", "seats": 40}' --keep-vectors
put customers/4821 '{"plan": "Business", "seats": 10}' --keep-vectors --run run-7
diff main what-if
merge what-if
show customers/4821
blame customers/4821
blame customers/4821 --field seats
blame --prefix notes/
why customers/4821
put -b what-if customers/5120 '{"plan": "Team"}'
put customers/5120 '{"plan": "Business"}'
merge what-if
merge what-if --json
merge what-if --on-conflict theirs
log --first-parent
log --key customers/5120 --first-parent
log --source ticket-2
log -n 1 --json
log --graph -n 2
bisect --key customers/5120 --field plan --equals '"Team"' --json
trace --source ticket-1
mv notes/1 notes/9
revert main~1 --yes
undo --yes
undo --run run-7 --dry-run
rm notes/2 --yes
restore --from main~1 notes/ --yes
cherry-pick main~2
tag v1
tag
tag v1
branch
branch -d what-if --yes
reflog main -n 3
reflog nope
remote
remote other {dir}/other.mnem
remote
push {dir}/nowhere.mnem
clone {url} {dir}/copy.mnem
clone {url} {dir}/copy.mnem
log -n 2 -s {dir}/copy.mnem
put -s {dir}/copy.mnem k 1
push -s {dir}/copy.mnem
show k
put k 2
pull -s {dir}/copy.mnem
fetch {dir}/copy.mnem
export {dir}/all.car
export {dir}/all.jsonl
bundle {dir}/all.car
import {dir}/all.car
import {dir}/all.jsonl --message again
backup {dir}/backup.mnem
backup {dir}/backup.mnem
gc --yes
gc --dry-run --json
verify
verify --json
stats
log nope
show main~99
put '' 1
put k 'no json'
completions bash
"""
_IDS = (
    (re.compile(r"\bbafy[a-z2-7]{55}\b"), "ID"),
    (re.compile(r"\b[a-z2-7]{10}\b"), "ID"),
    (re.compile(r"\b[0-9a-f]{32}\b"), "TRANSACTION"),
    (re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ(, just now|, .* ago)?"), "TIME"),
    (re.compile(r'"(time|at|when)": \d+'), r'"\1": TIME'),
    (re.compile(r"size +[\d.,]+ \w+|\([\d.,]+ [KM]iB\)"), "SIZE"),
)


def walk(url, directory):
    """Run every verb on a store that is not there yet.

    Args:
        url: the store.
        directory: an empty directory for the files that come out.

    Returns:
        For each command what it was, its exit code and what it printed, with ids, times, sizes and
        the names of both arguments left out.
    """
    return [_step(line, url, str(directory)) for line in WALK.strip().splitlines()]


def run(*arguments):
    """The exit code of `mnem`, and what it printed."""
    result = CliRunner().invoke(mnem, arguments)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.output


def _step(line, url, directory):
    words = [word.format(url=url, dir=directory) for word in _words(line)]
    code, output = run("--store", url, *words)
    return line, code, _without_ids(output, url, directory)


def _words(line):
    """The words of a command; braces stand for themselves, but for `{url}` and `{dir}`."""
    escaped = re.sub(r"\{(?!(?:url|dir)\})", "{{", line)
    return shlex.split(re.sub(r"(?<!\{url)(?<!\{dir)\}", "}}", escaped))


def _without_ids(text, url, directory):
    for name, stands_for in ((url, "STORE"), (directory, "DIRECTORY")):
        text = text.replace(name, stands_for)
    for pattern, stands_for in _IDS:
        text = pattern.sub(stands_for, text)
    return text
