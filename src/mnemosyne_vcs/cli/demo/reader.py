"""The model of the demo's agents: rules that turn the text of a prompt into an answer.

Nothing here knows which run it is in. An answer depends on the prompt alone, and what a prompt
contains depends on what the memory returned, so a wrong memory gives a wrong answer.
"""

import json
import re
from dataclasses import dataclass

__all__ = ["Fact", "answer", "consolidate", "distil", "read", "respond"]

_DOCUMENT = re.compile(
    r"^(?:Current Task: )?(?P<kind>Ticket|Note) (?P<number>\d+): (?P<body>.+)$", re.M
)
_CUSTOMER = re.compile(r"[Cc]ustomer (\d+)")
_STATED = re.compile(r"on (?:the|our|your) (\w+) plan")
_DOWNGRADE = re.compile(r"downgrade to (\w+)")
_SLA = re.compile(r"within (\d+ \w+)")
_HANDBOOK = re.compile(r"(\w+) within (\d+ \w+)")
_BELIEF = re.compile(r"Customer (\d+) is on plan (\w+), with answers within (\d+ \w+)\.")
_STORED = re.compile(r"- id=(\S+) .*\n\s+content: (.*)")


@dataclass(frozen=True)
class Fact:
    """What an agent takes from a document.

    Attributes:
        customer: the customer's number.
        content: the fact, as one sentence.
        source: the document, such as `ticket-7731`.
    """

    customer: str
    content: str
    source: str


def respond(prompt: str) -> str:
    """An agent's next step in CrewAI's format: note the fact of a document, or answer.

    Args:
        prompt: everything that the agent was told, in order.

    Returns:
        A thought, then an action or a final answer.
    """
    fact = read(prompt)
    if fact is None:
        return _final(answer(prompt))
    if f"Noted: {fact.content}" in prompt:
        return _final(f"{fact.content} ({fact.source})")
    arguments = {"content": fact.content, "customer": fact.customer, "source": fact.source}
    return (
        f"Thought: this is worth keeping\nAction: note_fact\nAction Input: {json.dumps(arguments)}"
    )


def answer(prompt: str) -> str:
    """Answer a customer from the memories in the prompt.

    Args:
        prompt: the customer's question and, below it, what was recalled, best first.

    Returns:
        The answer; it says so when no memory is about this customer.
    """
    asking = _CUSTOMER.search(prompt)
    customer = asking[1] if asking else "?"
    for belief in _BELIEF.finditer(prompt):
        if belief[1] == customer:
            return f"You will have an answer within {belief[3]}, as on every {belief[2]} plan."
    return f"I do not know the plan of customer {customer}."


def consolidate(prompt: str) -> str:
    """Decide what to do with stored memories that resemble a new one.

    Args:
        prompt: CrewAI's request: the new text, then the stored ones with their ids.

    Returns:
        A consolidation plan in JSON: earlier facts about the same customer are outdated, all
        others are kept.
    """
    new = _BELIEF.search(prompt)
    actions = [
        {
            "action": "delete"
            if new and (old := _BELIEF.search(text)) and old[1] == new[1]
            else "keep",
            "record_id": record_id,
        }
        for record_id, text in _STORED.findall(prompt)
    ]
    return json.dumps({"actions": actions, "insert_new": True})


def distil(prompt: str) -> str:
    """Say what to look up for a long task.

    Args:
        prompt: CrewAI's request, which quotes the task.

    Returns:
        A query analysis in JSON: one query for each customer that the task names.
    """
    customers = dict.fromkeys(_CUSTOMER.findall(prompt))
    queries = [f"Customer {customer} is on plan" for customer in customers]
    return json.dumps({"recall_queries": queries[:3], "complexity": "simple"})


def read(prompt: str) -> Fact | None:
    """The fact in the document of the prompt.

    A plan that the document states counts. Failing that, the word "downgrade" does: which is too
    hasty, since the document may only ask about a downgrade.

    Args:
        prompt: the handbook, then the document.

    Returns:
        The fact; None if there is no document, or it does not name a customer and a plan.
    """
    document = _DOCUMENT.search(prompt)
    customer = _CUSTOMER.search(document["body"]) if document else None
    if document is None or customer is None:
        return None
    body = document["body"]
    plan = _STATED.search(body) or _DOWNGRADE.search(body)
    if plan is None:
        return None
    promised = _SLA.search(body)
    handbook = dict(_HANDBOOK.findall(prompt[: document.start()]))
    time = promised[1] if promised else handbook.get(plan[1], "an unknown time")
    return Fact(
        customer=customer[1],
        content=f"Customer {customer[1]} is on plan {plan[1]}, with answers within {time}.",
        source=f"{document['kind'].lower()}-{document['number']}",
    )


def _final(text: str) -> str:
    return f"Thought: I now can give a great answer\nFinal Answer: {text}"
