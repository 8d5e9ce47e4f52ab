"""Imported last by the process that others are forked from: what that has loaded is no longer new.

Otherwise the first collection of garbage that looks at everything, which the next import or search
may set off, goes through all of crewai's objects and counts for whoever happens to be measured.
"""

import gc

gc.collect()
