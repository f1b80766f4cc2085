#!/usr/bin/env bash
# Set up a fresh virtual environment and run everything: lint, types, tests, notebooks, browser.
#   VENV=folder   where to make the environment (default: .venv-test, made anew)
set -euo pipefail
cd "$(dirname "$0")/.."
venv=${VENV:-.venv-test}
python=${PYTHON:-python3}

step() { printf '\n== %s\n' "$*"; }

step "virtual environment"
rm -rf "$venv"
"$python" -m venv "$venv"
"$venv/bin/pip" install -q --disable-pip-version-check uv
"$venv/bin/uv" pip install -q --python "$venv/bin/python" -e '.[dev]'
export PATH="$PWD/$venv/bin:$PATH"

step "browser"
if ! command -v chromium >/dev/null && [ -z "${EVALTOOLS_CHROMIUM:-}" ]; then
    if command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
        apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium
    else
        echo "no chromium found: browser tests will be skipped (install chromium or set EVALTOOLS_CHROMIUM)"
    fi
fi

step "lint"
ruff check .
ruff format --check .

step "types"
mypy

step "known vulnerabilities"
python scripts/audit.py

step "documentation (strict)"
python scripts/build_site.py

step "notebooks (nbval, strict)"
pytest -q --nbval notebooks -p no:cacheprovider --nbval-kernel-name python3

step "tests"
# more workers than cores: many tests wait for processes of their own
pytest -q -n 3 --dist loadfile --no-loadscope-reorder
