"""The contract of `mnemosyne_vcs.engine.protocol`, as a test suite for any engine.

Derive a test class from `EngineContract`, override the `engine` fixture, and run pytest:

```python
class TestMyEngine(EngineContract):
    @pytest.fixture
    def engine(self, tmp_path):
        engine = MyEngine(tmp_path / "store")
        yield engine
        engine.close()

    def again(self, engine):
        return MyEngine(engine.path)
```

What is optional is tested if the engine has it: the capabilities by `isinstance`, the rest by the
hooks `again`, `for_reading`, `copy_at` and `replace_bytes`.
"""

import pytest

pytest.register_assert_rewrite(
    "mnemosyne_vcs.testing._engine_hooks",
    "mnemosyne_vcs.testing._engine_core",
    "mnemosyne_vcs.testing._engine_capabilities",
    "mnemosyne_vcs.testing._engine_space",
    "mnemosyne_vcs.testing._engine_vectors",
)

from mnemosyne_vcs.testing._engine_capabilities import CapabilityContract  # noqa: E402
from mnemosyne_vcs.testing._engine_core import CoreContract  # noqa: E402
from mnemosyne_vcs.testing._engine_hooks import blob, in_threads, versions  # noqa: E402
from mnemosyne_vcs.testing._engine_space import SpaceContract  # noqa: E402
from mnemosyne_vcs.testing._engine_vectors import VectorContract  # noqa: E402

__all__ = ["EngineContract", "blob", "in_threads", "versions"]


class EngineContract(CoreContract, CapabilityContract, SpaceContract, VectorContract):
    """What every engine promises. `engine` is a fixture that gives a new, empty store."""
