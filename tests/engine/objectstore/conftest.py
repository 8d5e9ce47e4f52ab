"""Object stores for the tests here; they are left out where the packages are missing."""

from importlib.util import find_spec

_MISSING = [name for name in ("obstore", "boto3", "moto", "flask_cors") if find_spec(name) is None]
collect_ignore_glob = ["test_*.py"] if _MISSING else []

if not _MISSING:
    from objectstore.fixtures import (  # noqa: F401
        folder,
        keys,
        moto,
        new_folder,
        new_url,
        seaweedfs,
        url,
    )
