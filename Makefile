# Two commands are all a newcomer needs: make demo and make test.
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
PYTHON ?= python3
VENV := .venv
LOCAL_AWS_VENV := .venv-local-aws
# Bytecode stays out of template/: cookiecutter would copy it into every generated project.
export PYTHONDONTWRITEBYTECODE := 1

.PHONY: help setup test demo bench lint format manifest clean

help: ## List the commands
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

setup: $(VENV)/.done $(LOCAL_AWS_VENV)/.done ## Install what tests and demo use (two virtual environments)

$(VENV)/.done: requirements-dev.txt
	@echo "== installing the tools of this repository into $(VENV)"
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=/path/to/python3.11")'
	@$(PYTHON) -m venv $(VENV)
	@$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	@touch $@

$(LOCAL_AWS_VENV)/.done: requirements-local-aws.txt
	@echo "== installing the local AWS into $(LOCAL_AWS_VENV)"
	@$(PYTHON) -m venv $(LOCAL_AWS_VENV)
	@$(LOCAL_AWS_VENV)/bin/python -m pip install --quiet --disable-pip-version-check -r requirements-local-aws.txt
	@touch $@

test: setup ## Everything: lint, types, units, Terraform, template, end to end
	@$(VENV)/bin/python -m pytest -n 2 --dist loadgroup $(PYTEST_ARGS)

demo: setup ## The whole product on a local AWS, no account needed (KEEP=1 leaves it running)
	@KEEP="$(KEEP)" $(VENV)/bin/python -m tests.demo

bench: setup ## Performance goals as ratios, side by side (reported, not asserted)
	@$(VENV)/bin/python -m tests.benchmarks

lint: setup ## ruff, mypy, terraform fmt
	@$(VENV)/bin/python -m pytest -q tests/test_quality.py

format: setup ## Format Python and Terraform in place
	@$(VENV)/bin/ruff check --fix-only --quiet . && $(VENV)/bin/ruff format --quiet .
	@terraform fmt -recursive .

manifest: setup ## Write the list of file hashes and the envelope schema (after a change of the runtime)
	@cd "template/{{cookiecutter.project_slug}}/src/{{cookiecutter.package_name}}" && "$(CURDIR)/$(VENV)/bin/python" -m runtime.schema > runtime/envelope.schema.json && "$(CURDIR)/$(VENV)/bin/python" -m runtime.manifest --write

clean: ## Remove everything the commands made
	@rm -rf $(VENV) $(LOCAL_AWS_VENV) .cache .pytest_cache .mypy_cache .ruff_cache dist
