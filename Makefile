# The commands of a developer; `make` lists them. They use the environment that is active.
.PHONY: help test nightly lint format docs golden experiments mutants notebooks release

help:           ## list the commands
	@grep -E '^[a-z]+: .*##' Makefile | sed -E 's/:[^#]*##/:/'

test:           ## all tests in their short form; `pytest tests/core` runs one folder
	pytest

nightly:        ## all tests in their long form, examples and experiments too: hours
	HARVESTGYM_TESTS=all pytest

lint:           ## check style, format and types
	ruff check .
	ruff format --check .
	pyright

format:         ## format all files
	ruff check --fix .
	ruff format .

docs:           ## build the site into out/site and check its links
	sphinx-build -W --keep-going -q docs out/site
	python tools/check_links.py out/site

notebooks:      ## build the site with every notebook run, as it is published; before each release
	HARVESTGYM_NOTEBOOKS=force $(MAKE) docs

golden:         ## write the golden trajectories of ID=...; they change with the version of an id only
	python tools/make_golden.py $(ID)

experiments:    ## make the published numbers and pictures whose code or files have changed: up to days
	python -m experiments.remake

mutants:        ## count the changes of a number or an operator that no test notices: an hour or two
	python tools/mutate.py --out out/mutants.json

release:        ## run everything in fresh environments, run the notebooks, build the distributions into dist and try the wheel
	bash .ci/run
	$(MAKE) notebooks
	rm -rf dist
	python -m build
	twine check --strict dist/*
	python tools/try_wheel.py dist/*.whl python3.11 python3.12 python3.13
