"""What an `s3://` URL says: where the repository is, and how patiently to ask for it."""

import re
from dataclasses import dataclass, replace
from urllib.parse import parse_qsl, quote, urlencode

from mnemosyne_vcs.errors import ValidationError
from mnemosyne_vcs.paths import absolute, require_meant

__all__ = ["ObjectStoreUrl", "parse_url"]

_FORM = "s3://BUCKET/PREFIX?endpoint=URL&region=NAME"
_BUCKET = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_PART = re.compile(r"(?!\.{1,2}$)[A-Za-z0-9._=+@,-]+")
_ENDPOINT = re.compile(r"https?://[^/?#]+(/.*)?")
_TEXTS = "endpoint", "region", "cache"
_NUMBERS = "cache_mb", "disk_mb", "timeout", "retry_for", "backoff"
_LONGEST = 1_000_000.0
_KEYS = "keys are taken from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY alone"


@dataclass(frozen=True, slots=True)
class ObjectStoreUrl:
    """A URL in parts.

    Attributes:
        bucket: the bucket.
        prefix: what the names of all objects of the repository begin with, without `/` at an end.
        canonical: the URL in its canonical form.
        endpoint: where the service is, if it is not AWS.
        region: the region, if it is not the environment's.
        cache: a directory for blocks that were read, if there is to be one.
        cache_mb: megabytes of blocks that are kept in memory.
        disk_mb: megabytes of blocks that are kept in the directory.
        timeout: seconds that one request may take.
        retry_for: seconds in which a request that fails for a passing reason is tried again.
        backoff: seconds before it is tried again for the first time; they double each time.
    """

    bucket: str
    prefix: str
    canonical: str
    endpoint: str | None = None
    region: str | None = None
    cache: str | None = None
    cache_mb: float = 64.0
    disk_mb: float = 1024.0
    timeout: float = 30.0
    retry_for: float = 30.0
    backoff: float = 0.1


def parse_url(url: str) -> ObjectStoreUrl:
    """Take a URL apart.

    Args:
        url: `s3://bucket/prefix` with any of the options that `ObjectStoreUrl` has.

    Raises:
        ValidationError: the URL names no bucket, or has an option that is unknown or malformed.
    """
    location, _, query = url.partition("://")[2].partition("?")
    bucket, _, prefix = location.partition("/")
    prefix = prefix.strip("/")
    if "@" in bucket:
        raise ValidationError(f"the URL of s3://{bucket.rpartition('@')[2]} holds keys; {_KEYS}")
    if "#" in url or not _BUCKET.fullmatch(bucket):
        raise ValidationError(f"{'s3://' + location!r} names no bucket; write {_FORM}")
    canonical = f"s3://{bucket}" + (f"/{prefix}" if prefix else "")
    if prefix and not all(map(_PART.fullmatch, prefix.split("/"))):
        raise ValidationError(
            f"{canonical!r}: {prefix!r} is not a valid prefix: between single '/' use letters, "
            "digits and ._=+@,-"
        )
    options = _options(canonical, query)
    if query:
        canonical += "?" + urlencode(sorted(options.items()), quote_via=quote, safe="/:")
    numbers = {
        name: _number(canonical, name, options[name]) for name in _NUMBERS if name in options
    }
    endpoint, region, cache = map(options.get, _TEXTS)
    return replace(ObjectStoreUrl(bucket, prefix, canonical, endpoint, region, cache), **numbers)


def _options(url: str, query: str) -> dict[str, str]:
    try:
        pairs = parse_qsl(query, keep_blank_values=True, strict_parsing=bool(query))
    except ValueError:
        raise ValidationError(f"{url!r}: what follows '?' is not NAME=VALUE&…") from None
    known = (*_TEXTS, *_NUMBERS)
    for name, value in pairs:
        if name not in known:
            raise ValidationError(
                f"{url!r}: there is no option {name!r}; there are {', '.join(known)}, and {_KEYS}"
            )
        if not value:
            raise ValidationError(f"{url!r}: {name} is empty")
    if len(dict(pairs)) != len(pairs):
        raise ValidationError(f"{url!r} gives an option twice")
    options = dict(pairs)
    endpoint = options.get("endpoint", "https://aws")
    if "@" in endpoint:
        raise ValidationError(f"{url!r}: the endpoint holds keys; {_KEYS}")
    if not _ENDPOINT.fullmatch(endpoint):
        raise ValidationError(f"{url!r}: the endpoint begins with http:// or https:// and a host")
    if "cache" in options:
        require_meant(options["cache"].rstrip("/"), url)
        options["cache"] = absolute(options["cache"])
    return options


def _number(url: str, name: str, text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 < number <= _LONGEST:
        raise ValidationError(f"{url!r}: {name} is a number above 0, not {text!r}")
    return number
