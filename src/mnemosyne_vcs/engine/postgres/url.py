"""The parts of a `postgresql://` URL: the server, and the repository."""

from dataclasses import dataclass
from urllib.parse import parse_qsl, quote, unquote, urlencode

from mnemosyne_vcs.errors import ValidationError

__all__ = ["PostgresUrl", "parse_url"]

MAX_NAME = 200
_FORM = "postgresql://USER@HOST:PORT/DATABASE?repository=NAME"


@dataclass(frozen=True, slots=True)
class PostgresUrl:
    """A URL in parts.

    Attributes:
        dsn: the connection string for libpq; it may hold a password.
        repository: the name of the repository.
        canonical: the URL in its canonical form, without a password.
    """

    dsn: str
    repository: str
    canonical: str

    def __repr__(self) -> str:
        return f"<PostgresUrl {self.canonical}>"


def parse_url(url: str) -> PostgresUrl:
    """Take a URL apart.

    Args:
        url: a connection URI as libpq takes it, with several hosts if need be, and with the
            parameter `repository`; the scheme `postgres` is the same.

    Raises:
        ValidationError: the URL names no repository, or libpq does not accept it.
    """
    location, _, query = url.partition("://")[2].partition("?")
    authority, slash, database = location.partition("/")
    user_info, at, hosts = authority.rpartition("@")
    shown = f"postgresql://{user_info.partition(':')[0]}{at}{hosts}{slash}{database}"
    if "#" in url:
        raise ValidationError(f"{shown!r}: write '#' as %23; a PostgreSQL URL has no fragment")
    try:
        parameters = parse_qsl(query, keep_blank_values=True, strict_parsing=bool(query))
    except ValueError:
        raise ValidationError(f"{shown!r}: what follows '?' is not NAME=VALUE&…") from None
    names = [value for name, value in parameters if name == "repository"]
    if len(names) != 1:
        raise ValidationError(
            f"{shown!r} names {'no' if not names else 'more than one'} repository; write {_FORM}"
        )
    rest = [(name, value) for name, value in parameters if name != "repository"]
    public = sorted((name, value) for name, value in rest if "password" not in name)
    repository = _checked(names[0], shown)
    tail = _encoded([("repository", repository), *public])
    dsn = f"postgresql://{location}" + (f"?{_encoded(rest)}" if rest else "")
    return PostgresUrl(dsn, repository, f"{_without_password(shown)}?{tail}")


def _checked(name: str, shown: str) -> str:
    if not 0 < len(name) <= MAX_NAME or not name.isprintable():
        raise ValidationError(
            f"{shown!r}: {name[:40]!r} is not a valid repository name: "
            f"use 1 to {MAX_NAME} printable characters"
        )
    return name


def _without_password(shown: str) -> str:
    """The location with its user and database in their shortest encoding."""
    authority, slash, database = shown.removeprefix("postgresql://").partition("/")
    user, at, hosts = authority.rpartition("@")
    return f"postgresql://{_again(user)}{at}{hosts.lower()}{slash}{_again(database)}"


def _again(text: str) -> str:
    return quote(unquote(text), safe="")


def _encoded(parameters: list[tuple[str, str]]) -> str:
    return urlencode(parameters, quote_via=quote)
