"""CrewAI: its memory on a versioned store.

```python
from mnemosyne_vcs.adapters.crewai import register

register("memory.mnem")  # every Crew(memory=True) from here on
```
"""

from mnemosyne_vcs.adapters.crewai.backend import MnemosyneStorageBackend
from mnemosyne_vcs.adapters.crewai.registry import register, unregister

__all__ = ["MnemosyneStorageBackend", "register", "unregister"]
