"""Storage specs: the texts by which CrewAI names a backend.

`mnemosyne+URL`, then `#branch` if it is not `main`, then `@revision` of a past memory.
"""

from mnemosyne_vcs.engine import canonical_url
from mnemosyne_vcs.engine.shared import without_password
from mnemosyne_vcs.errors import ValidationError
from mnemosyne_vcs.refs import DEFAULT_BRANCH

__all__ = ["PREFIX", "canonical_url", "parse_spec", "spec_of"]

PREFIX = "mnemosyne+"


def spec_of(url: str, branch: str, revision: str | None) -> str:
    """The spec of a backend.

    Args:
        url: the store's canonical URL.
        branch: the branch.
        revision: the commit of a past memory; None for the present one.
    """
    spec = PREFIX + url
    if branch != DEFAULT_BRANCH or revision:
        spec += f"#{branch}"
    return spec + (f"@{revision}" if revision else "")


def parse_spec(spec: str) -> tuple[str, str, str | None]:
    """The URL or path, branch and revision in a spec; the inverse of `spec_of`.

    Raises:
        ValidationError: the prefix is not at the start, for example after a quotation mark.
    """
    if not spec.startswith(PREFIX):
        raise ValidationError(f"{without_password(spec)!r} does not begin with {PREFIX}")
    url, _, rest = spec.removeprefix(PREFIX).partition("#")
    branch, _, revision = rest.partition("@")
    return url, branch or DEFAULT_BRANCH, revision or None
