"""Mutants: small changes of the source, made by the operators of Cosmic Ray."""

import ast
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.ast.ast_query import ASTQuery
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator, operator_names

_IDENTITY = re.compile(r"_(?!Is(Not)?_)[A-Z][A-Za-z]+_Is(Not)?$|Is_Eq$|IsNot_NotEq$")
"""Operators that compare identities in place of values, which is the same or nonsense."""


_DECLARED = ("frozen", "slots", "strict")
"""Arguments of `dataclass` and `zip` that only state what is so."""


@dataclass(frozen=True)
class Mutant:
    """A change of one place in one file.

    Attributes:
        file: the file, from the root of the project.
        operator: the name of the operator.
        occurrence: which of the operator's places in the file is changed.
        line: the line of the place.
        function: the name of the function that holds the place; empty outside of any.
    """

    file: str
    operator: str
    occurrence: int
    line: int
    function: str

    def source(self) -> str:
        """The whole file with the change."""
        original = Path(self.file).read_text()
        changed = mutate_code(original, get_operator(self.operator)(), self.occurrence)
        if changed is None:
            raise LookupError(f"{self.operator} has no place {self.occurrence} in {self.file}")
        return changed

    def lines(self) -> tuple[str, str]:
        """The first line that differs, before and after, without indentation."""
        before = Path(self.file).read_text().splitlines()
        after = self.source().splitlines()
        for old, new in zip(before, after, strict=False):
            if old != new:
                return old.strip(), new.strip()
        return (before or [""])[-1].strip(), ""


def sample(files: Sequence[Path], size: int, seed: int) -> list[Mutant]:
    """Some mutants, each of another place, the same for the same seed and files.

    Args:
        files: the files to change.
        size: how many; fewer if there are not so many places.
        seed: chooses them.
    """
    rng = random.Random(seed)
    places: dict[tuple[str, object], list[Mutant]] = {}
    for file in files:
        for place, mutant in _all(file):
            places.setdefault((str(file), place), []).append(mutant)
    chosen: list[Mutant] = []
    for place in rng.sample(sorted(places, key=str), len(places)):
        mutant = rng.choice(places[place])
        if len(chosen) < size and _matters(mutant):
            chosen.append(mutant)
    return sorted(chosen, key=lambda each: (each.file, each.line, each.operator))


def _all(file: Path) -> Iterator[tuple[object, Mutant]]:
    nodes = list(ast_nodes(get_ast(file.read_text())))
    for name in sorted(operator_names()):
        if get_operator(name).arguments() or _IDENTITY.search(name):
            continue
        operator = get_operator(name)()
        found = ((node, at) for node in nodes for at, _ in operator.mutation_positions(node))
        for occurrence, (node, place) in enumerate(found):
            function = ASTQuery(node).get_definition_name() or ""
            if function.lstrip("_")[:1].isupper():
                function = ""  # the body of a class runs when it is loaded
            yield place, Mutant(str(file), name, occurrence, place[0], function)


def _matters(mutant: Mutant) -> bool:
    """Whether the change is one of what the code does.

    Changes of annotations are left out, and of arguments that state what the code keeps to anyway.
    """
    try:
        changed = ast.parse(mutant.source())
    except SyntaxError:
        return False
    return _running(changed) != _running(ast.parse(Path(mutant.file).read_text()))


def _running(module: ast.Module) -> str:
    for node in ast.walk(module):
        if isinstance(node, ast.AnnAssign):
            node.annotation = ast.Constant(None)
        elif isinstance(node, ast.arguments):  # `*` and `/` say how arguments are given
            node.args = [*node.posonlyargs, *node.args, *node.kwonlyargs]
            node.defaults = [each for each in [*node.defaults, *node.kw_defaults] if each]
            node.posonlyargs, node.kwonlyargs, node.kw_defaults = [], [], []
        elif isinstance(node, ast.arg):
            node.annotation = None
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            node.returns = None
        elif isinstance(node, ast.keyword) and node.arg in _DECLARED:
            node.value = ast.Constant(None)
    return ast.dump(module)
