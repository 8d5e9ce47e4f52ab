# Every target sets up what it needs: a pinned uv in .tools, and one environment for each framework.
UV_VERSION := 0.13.9
UV := .tools/bin/uv
export UV_SYSTEM_CERTS := 1
CORE := UV_PROJECT_ENVIRONMENT=.venv $(UV) run --locked
SERVERS := --group postgres --group objectstore
CREWAI := UV_PROJECT_ENVIRONMENT=.venv-crewai $(UV) run --locked --group crewai $(SERVERS)
DEMO := UV_PROJECT_ENVIRONMENT=.venv-crewai $(UV) run --locked --no-default-groups --extra crewai
DOCS := NO_MKDOCS_2_WARNING=1 UV_PROJECT_ENVIRONMENT=.venv-docs $(UV) run --locked --only-group docs
ENGINES := UV_PROJECT_ENVIRONMENT=.venv-engines $(UV) run --locked $(SERVERS)
MUTATION := UV_PROJECT_ENVIRONMENT=.venv-mutation $(UV) run --locked --no-default-groups --group mutation
BESIDE = UV_PROJECT_ENVIRONMENT=.venv-beside-$(1) $(UV) run --locked --no-editable \
	--reinstall-package mnemosyne-vcs --no-default-groups --group beside-$(1)
BENCH := UV_PROJECT_ENVIRONMENT=.venv-crewai $(UV) run --locked --group bench

.PHONY: demo test test-core test-crewai test-postgres test-objectstore test-neighbours lint docs bench audit conformance mutation format soak clean

demo: $(UV)
	$(DEMO) mnem demo --crewai "$$(mktemp -d)/demo.mnem"
	@echo "(mnem is .venv-crewai/bin/mnem here)"

test: lint docs test-core test-crewai test-postgres test-objectstore test-neighbours

test-core: $(UV)
	$(CORE) pytest --ignore=tests/adapters

test-crewai: $(UV)
	$(CREWAI) pytest tests/adapters

test-postgres: $(UV)
	$(ENGINES) pytest tests/engine/postgres

test-objectstore: $(UV)
	$(ENGINES) pytest tests/engine/objectstore

test-neighbours: $(UV)
	NEIGHBOUR=guard $(call BESIDE,guard) pytest tests/neighbours
	NEIGHBOUR=memory $(call BESIDE,memory) pytest tests/neighbours

lint: $(UV)
	$(CREWAI) ruff format --check .
	$(CREWAI) ruff check .
	$(CREWAI) basedpyright --pythonpath .venv-crewai/bin/python
	$(CREWAI) lint-imports

docs: $(UV)
	$(DOCS) mkdocs build --strict --quiet
	$(DOCS) pytest --noconftest tests/docs

soak: $(UV)
	$(CORE) pytest --ignore=tests/adapters -m soak -s
	$(ENGINES) pytest tests/engine/postgres -m soak -s
	$(ENGINES) pytest tests/engine/objectstore -m soak -s

mutation: $(UV)
	HYPOTHESIS_PROFILE=ci PYTHONPATH=tests:tests/support $(MUTATION) python -m mutation

format: $(UV)
	$(CORE) ruff format .
	$(CORE) ruff check --fix .

bench: $(UV)
	$(BENCH) python -m benchmarks run --out docs/benchmarks/results.json
	$(BENCH) python -m benchmarks run --only engines --out docs/benchmarks/engines.json
	$(BENCH) python -m benchmarks report docs/benchmarks/results.json

audit: $(UV)
	$(CORE) python -m benchmarks.audit run
	$(CORE) python -m benchmarks.audit page docs/audit.md

conformance: $(UV)
	$(CREWAI) python -m mnemosyne_vcs.testing.crewai docs/crewai-conformance.md

$(UV):
	python3 -m venv .tools
	.tools/bin/python -m pip install --quiet --disable-pip-version-check uv==$(UV_VERSION)

clean:
	rm -rf .tools .venv .venv-crewai .venv-docs .venv-engines .venv-mutation .venv-beside-* .mutation.jsonl site .pytest_cache .ruff_cache .hypothesis
