"""The contract of repositories, as a test suite for any engine that opens by a URL.

Derive a test class from `RepositoryContract`, give it a fixture `new_url`, and run pytest:

```python
class TestMyRepository(RepositoryContract):
    @pytest.fixture
    def new_url(self, tmp_path):
        numbers = count()
        return lambda: f"mine://{tmp_path}/{next(numbers)}"
```

Some tests start other Python processes, which open the URL too, so that the scheme must be known
there: by an entry point of an installed distribution, or one that is on `PYTHONPATH`. What needs a
capability that the engine does not have is skipped. It needs `pytest` and `hypothesis`.
"""

from collections.abc import Callable

import pytest

_PARTS = (
    "basics",
    "bisect",
    "blame",
    "concurrency",
    "faults",
    "gc",
    "history",
    "history_index",
    "log",
    "merge",
    "revert",
    "state",
    "trace",
    "verify",
)
pytest.register_assert_rewrite(
    "mnemosyne_vcs.testing._acknowledgements", *(f"{__name__}.{part}" for part in _PARTS)
)

from mnemosyne_vcs.testing.repository.basics import BasicsContract  # noqa: E402
from mnemosyne_vcs.testing.repository.bisect import BisectContract  # noqa: E402
from mnemosyne_vcs.testing.repository.blame import BlameContract  # noqa: E402
from mnemosyne_vcs.testing.repository.concurrency import ConcurrencyContract  # noqa: E402
from mnemosyne_vcs.testing.repository.faults import FaultsContract  # noqa: E402
from mnemosyne_vcs.testing.repository.gc import GcContract  # noqa: E402
from mnemosyne_vcs.testing.repository.history import HistoryContract  # noqa: E402
from mnemosyne_vcs.testing.repository.history_index import HistoryIndexContract  # noqa: E402
from mnemosyne_vcs.testing.repository.log import LogContract  # noqa: E402
from mnemosyne_vcs.testing.repository.merge import MergeContract  # noqa: E402
from mnemosyne_vcs.testing.repository.revert import RevertContract  # noqa: E402
from mnemosyne_vcs.testing.repository.state import StateContract  # noqa: E402
from mnemosyne_vcs.testing.repository.trace import TraceContract  # noqa: E402
from mnemosyne_vcs.testing.repository.verify import VerifyContract  # noqa: E402

__all__ = ["RepositoryContract"]


class RepositoryContract(
    BasicsContract,
    BisectContract,
    BlameContract,
    ConcurrencyContract,
    FaultsContract,
    GcContract,
    HistoryContract,
    HistoryIndexContract,
    LogContract,
    MergeContract,
    RevertContract,
    StateContract,
    TraceContract,
    VerifyContract,
):
    """What every repository promises. `new_url` is a fixture that makes URLs of new stores."""

    @pytest.fixture
    def url(self, new_url: Callable[[], str]) -> str:
        """The URL of a store that does not exist yet."""
        return new_url()
