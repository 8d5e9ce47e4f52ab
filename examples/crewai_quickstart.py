"""A CrewAI crew with a versioned memory: every save is a commit in memory.mnem.

    pip install "mnemosyne-vcs[crewai]"
    python crewai_quickstart.py

It runs offline: `Model` and `embed` stand in for yours. With a model provider set up,
`Crew(..., memory=True)` is all that a crew needs.
"""

import json
import sys
import zlib

from crewai import Agent, Crew, Task
from crewai.llms.base_llm import BaseLLM
from crewai.memory import Memory

import mnemosyne_vcs
from mnemosyne_vcs.adapters.crewai import register


class Model(BaseLLM):
    def call(self, messages, *args, **kwargs):
        if "extract discrete" in str(messages):
            return json.dumps({"memories": ["Customer 4821 is on the Enterprise plan."]})
        if "hierarchical memory" in str(messages):
            return json.dumps({"suggested_scope": "/customers/4821", "categories": ["plan"]})
        return "Thought: done\nFinal Answer: Customer 4821 is on the Enterprise plan."


def embed(texts):
    buckets = [[zlib.crc32(word.encode()) % 64 for word in text.split()] for text in texts]
    return [[float(words.count(bucket)) for bucket in range(64)] for words in buckets]


url = sys.argv[1] if len(sys.argv) > 1 else "memory.mnem"
register(url)  # from here on, CrewAI keeps every memory there

model = Model(model="yours")
analyst = Agent(role="Analyst", goal="know the customers", backstory="precise", llm=model)
task = Task(description="Read ticket 7731", expected_output="the plan", agent=analyst)
memory = Memory(llm=model, embedder=embed)  # or just memory=True below
Crew(agents=[analyst], tasks=[task], memory=memory).kickoff()

with mnemosyne_vcs.open(url, read_only=True) as repository:
    for commit in repository.log():
        print(commit.short_id, commit.author, commit.message, dict(commit.trailers))
