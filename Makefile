# Two commands are all a newcomer needs: make demo and make test.
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
PYTHON ?= python3
VENV := .venv
LOCAL_AWS_VENV := .venv-local-aws
# Bytecode stays out of template/: cookiecutter would copy it into every generated project.
export PYTHONDONTWRITEBYTECODE := 1
# What is needed is looked for before anything is installed, whatever -j says.
.NOTPARALLEL:

.PHONY: help setup test demo demo-stop chaos bench lint format manifest clean needs-terraform

define needs_python
@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
	|| { echo "Python 3.11 or newer is needed, and $(PYTHON) is not: make PYTHON=/path/to/python3.11" >&2; exit 1; }
endef

needs-terraform:
	@found="$$(CHECKPOINT_DISABLE=1 terraform version 2>/dev/null | sed -n 's/^Terraform v//p')"; \
	case "$$found" in ""|0.*|1.[0-8].*) \
		echo "Terraform 1.9 or newer is needed on PATH (found: $${found:-none}): install it, or put it first on PATH" >&2; exit 1;; \
	esac

help: ## List the commands
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

setup: $(VENV)/.done $(LOCAL_AWS_VENV)/.done ## Install what tests and demo use (two virtual environments)

$(VENV)/.done: requirements-dev.txt
	$(needs_python)
	@echo "== installing the tools of this repository into $(VENV)"
	@"$(PYTHON)" -m venv $(VENV)
	@$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	@touch $@

$(LOCAL_AWS_VENV)/.done: requirements-local-aws.txt
	$(needs_python)
	@echo "== installing the local AWS into $(LOCAL_AWS_VENV)"
	@"$(PYTHON)" -m venv $(LOCAL_AWS_VENV)
	@$(LOCAL_AWS_VENV)/bin/python -m pip install --quiet --disable-pip-version-check -r requirements-local-aws.txt
	@touch $@

# exec: a signal that is sent to make reaches Python, not a shell in between.
test: needs-terraform setup ## Everything: lint, types, units, Terraform, template, end to end
	@exec $(VENV)/bin/python -m pytest -n 2 --dist loadgroup $(PYTEST_ARGS)

demo: needs-terraform setup ## The whole product on a local AWS, no account needed (KEEP=1 leaves it running)
	@exec env KEEP="$(KEEP)" $(VENV)/bin/python -m tests.demo

demo-stop: ## End a demo that KEEP=1 left up
	@"$(or $(wildcard $(VENV)/bin/python),$(PYTHON))" -m tests.demo.kept

chaos: setup ## Function processes killed at random for two minutes under load, every job accounted for
	@JOBS_CHAOS_SECONDS=120 exec $(VENV)/bin/python -m pytest tests/e2e/test_chaos.py

bench: setup ## Performance goals as ratios, side by side (reported, not asserted)
	@exec $(VENV)/bin/python -m tests.benchmarks

lint: setup ## ruff, mypy, terraform fmt
	@$(VENV)/bin/python -m pytest -q tests/test_quality.py

format: setup ## Format Python and Terraform in place
	@$(VENV)/bin/ruff check --fix-only --quiet . && $(VENV)/bin/ruff format --quiet .
	@terraform fmt -recursive .

manifest: setup ## Write the list of file hashes and the envelope schema (after a change of the runtime)
	@cd "template/{{cookiecutter.project_slug}}/src/{{cookiecutter.package_name}}" && "$(CURDIR)/$(VENV)/bin/python" -m runtime.schema > runtime/envelope.schema.json && "$(CURDIR)/$(VENV)/bin/python" -m runtime.manifest --write

clean: ## Remove everything the commands made, and end a demo that was left up
	@test ! -f .cache/demo.json || $(MAKE) --no-print-directory demo-stop
	@rm -rf $(VENV) $(LOCAL_AWS_VENV) .cache .pytest_cache .mypy_cache .ruff_cache dist
