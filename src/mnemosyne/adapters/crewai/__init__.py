"""CrewAI: its memory on a versioned store.

```python
from mnemosyne.adapters.crewai import register

register("memory.mnem")  # every Crew(memory=True) from here on
```
"""

from mnemosyne.adapters.crewai.backend import MnemosyneStorageBackend
from mnemosyne.adapters.crewai.registry import register, unregister

__all__ = ["MnemosyneStorageBackend", "register", "unregister"]
