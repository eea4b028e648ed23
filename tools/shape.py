"""The shape of the source, in figures: a mirror, not a gate. ``make shape`` prints it.

How large files and functions are, how long the longest chain of imports is (lazy imports counted), whether imports run
in circles, how many files a room has, which class names stand in two rooms, and which lines are written twice.
The chain is counted twice: by what modules name, and with the packages around a named module, whose own ``__init__``
Python runs before it.
"""

from __future__ import annotations

import ast
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import median

ROOT = Path(__file__).parents[1] / "src"
LONGEST_FUNCTION, LONGEST_FILE = 45, 400
"""Lines: what is longer is listed."""
WINDOW = 6
"""So many lines in a row that stand twice are a duplicate."""
KINDS = {"PureDP", "ApproxDP", "ZCDP", "DiscreteLaplace", "DiscreteGaussian"}
"""Budgets and noises: what varies by kind is a method, not a test for the type."""

Graph = Mapping[str, set[str]]


def modules(root: Path = ROOT) -> dict[str, Path]:
    """Every module by its dotted name."""
    found = {}
    for path in sorted(root.rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports(tree: ast.Module, known: Mapping[str, Path], name: str) -> set[str]:
    """The modules of our own that a module imports, lazily or not, but not those named for type checkers alone."""
    hidden = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
        for inner in ast.walk(node)
    }
    found: set[str] = set()
    for node in ast.walk(tree):
        if id(node) in hidden:
            continue
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names if alias.name in known}
        elif isinstance(node, ast.ImportFrom) and node.module in known:
            inner = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= (inner & known.keys()) or {node.module}
    return found - {name}


def with_packages(graph: Graph) -> dict[str, set[str]]:
    """The same imports and those of the packages around each: they run first, unless they are running already."""
    full = {}
    for name, targets in graph.items():
        around = {package for one in targets for package in _packages(one)}
        full[name] = targets | {one for one in around if one in graph and graph[one] and one not in _packages(name)} - {
            name
        }
    return full


def _packages(name: str) -> list[str]:
    """The packages around a module, from the outermost; an ``__init__`` is within its own."""
    parts = name.split(".")
    return [".".join(parts[:count]) for count in range(1, len(parts) + 1)]


def circles(graph: Graph) -> list[list[str]]:
    """The sets of modules that import one another in a circle (strongly connected, by Kosaraju)."""
    order: list[str] = []
    seen: set[str] = set()
    for start in graph:
        stack = [(start, iter(graph[start]))] if start not in seen else []
        seen.add(start)
        while stack:
            node, following = stack[-1]
            step = next((one for one in following if one not in seen), None)
            if step is None:
                order.append(stack.pop()[0])
            else:
                seen.add(step)
                stack.append((step, iter(graph[step])))
    back: dict[str, set[str]] = defaultdict(set)
    for node, targets in graph.items():
        for one in targets:
            back[one].add(node)
    found, left = [], set(graph)
    for start in reversed(order):
        circle, stack_of = [], [start] if start in left else []
        while stack_of:
            node = stack_of.pop()
            if node in left:
                left.remove(node)
                circle.append(node)
                stack_of += back[node] & left
        if len(circle) > 1:
            found.append(sorted(circle))
    return found


def longest_chain(graph: Graph) -> list[str]:
    """The longest chain of imports; a module that imports itself in a circle counts once."""
    chains: dict[str, list[str]] = {}

    def chain(node: str, above: frozenset[str]) -> list[str]:
        if node not in chains:
            below = (chain(one, above | {node}) for one in sorted(graph[node] - above))
            chains[node] = [node, *max(below, key=len, default=[])]
        return chains[node]

    sys.setrecursionlimit(10_000)
    return max((chain(node, frozenset({node})) for node in graph), key=len)


def functions(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """The length of every function, with its name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield (node.end_lineno or node.lineno) - node.lineno + 1, node.name


def imported(tree: ast.Module) -> set[int]:
    """The lines of import statements, those of their lists of names included."""
    nodes = (node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom))
    return {line for node in nodes for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)}


def repeated(paths: Mapping[str, Path]) -> list[tuple[str, str]]:
    """Pairs of places that share six lines or more; imports, comments and lone punctuation do not count."""
    places: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for name, path in paths.items():
        text = path.read_text("utf-8")
        hidden = imported(ast.parse(text))
        lines = [(number, line.strip()) for number, line in enumerate(text.splitlines(), start=1)]
        kept = [one for one in lines if len(one[1]) > 4 and one[0] not in hidden and not one[1].startswith("#")]
        for start in range(len(kept) - WINDOW + 1):
            window = kept[start : start + WINDOW]
            places[tuple(text for _, text in window)].append(f"{name}:{window[0][0]}")
    found, last = [], ("", "")
    for where in places.values():
        if len(where) > 1:
            pair = (where[0].split(":")[0], where[1].split(":")[0])
            if pair != last:
                found.append((where[0], where[1]))
            last = pair
    return found


def main() -> None:
    paths = modules()
    trees = {name: ast.parse(path.read_text("utf-8")) for name, path in paths.items()}
    graph = {name: imports(tree, paths, name) for name, tree in trees.items()}
    lengths = sorted(len(path.read_text("utf-8").splitlines()) for path in paths.values())
    sizes = sorted((one for tree in trees.values() for one in functions(tree)), reverse=True)
    print(f"files {len(paths)}, lines {sum(lengths)}")
    print(f"file: median {median(lengths):.0f}, 95 % {lengths[int(0.95 * len(lengths))]}, longest {lengths[-1]}")
    print(f"  over {LONGEST_FILE} lines: {sum(length > LONGEST_FILE for length in lengths) or 'none'}")
    spans = sorted(size for size, _ in sizes)
    print(f"function: median {median(spans):.0f}, 95 % {spans[int(0.95 * len(spans))]}, longest {spans[-1]}")
    long = [f"{name} {size}" for size, name in sizes if size > LONGEST_FUNCTION]
    print(f"  over {LONGEST_FUNCTION} lines: {', '.join(long) or 'none'}")
    _print_imports("longest chain of imports, lazy ones counted", graph)
    _print_imports("the same with the packages that are imported on the way", with_packages(graph))
    rooms = defaultdict(int)
    for path in paths.values():
        if path.stem != "__init__":
            rooms[path.parent.relative_to(ROOT).as_posix()] += 1
    crowded = ", ".join(f"{room} {count}" for room, count in sorted(rooms.items(), key=lambda one: -one[1])[:6])
    print(f"rooms {len(rooms)}, the fullest: {crowded}")
    homes: dict[str, set[str]] = defaultdict(set)
    for name, tree in trees.items():
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes[node.name].add(name)
    for name, where in sorted(homes.items()):
        if len(where) > 1:
            print(f"one class name, several modules: {name} in {', '.join(sorted(where))}")
    tested = sum(_type_tests(tree) for tree in trees.values())
    nothing = sum(path.read_text("utf-8").count("encoding is None") for path in paths.values())
    print(f"tests for the type of a budget or noise: {tested}; 'encoding is None': {nothing}")
    twice = repeated(paths)
    print(f"passages of {WINDOW} lines that stand twice: {len(twice)}")
    for one, other in twice:
        print(f"  {one} ~ {other}")


def _print_imports(words: str, graph: Graph) -> None:
    """The longest chain, and every circle."""
    chain = longest_chain(graph)
    print(f"{words}: {len(chain)}")
    print("  " + " > ".join(name.removeprefix("margrave.") for name in chain))
    for circle in circles(graph):
        print(f"  circle of imports: {', '.join(circle)}")


def _type_tests(tree: ast.Module) -> int:
    """How often a module asks a budget or a noise for its type."""
    found = 0
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "isinstance" and len(node.args) == 2:
            found += bool({inner.id for inner in ast.walk(node.args[1]) if isinstance(inner, ast.Name)} & KINDS)
        elif isinstance(node, ast.MatchClass) and getattr(node.cls, "id", "") in KINDS:
            found += 1
    return found


if __name__ == "__main__":
    main()
