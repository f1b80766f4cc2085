#!/usr/bin/env bash
# Set up a fresh virtual environment and run everything: lint, types, tests, notebooks, browser.
# Every step runs, whatever the ones before gave; the exit status is 1 if any failed.
#   VENV=folder   where to make the environment (default: .venv-test, made anew)
set -uo pipefail
cd "$(dirname "$0")/.."
venv=${VENV:-.venv-test}
python=${PYTHON:-python3}
failed=()
# hundreds of processes are started, which would compile every library again
unset PYTHONDONTWRITEBYTECODE

step() {
    local name=$1
    shift
    printf '\n== %s\n' "$name"
    "$@" || failed+=("$name")
}

environment() {
    rm -rf "$venv" &&
        "$python" -m venv "$venv" &&
        "$venv/bin/pip" install -q --disable-pip-version-check uv &&
        "$venv/bin/uv" pip install -q --python "$venv/bin/python" -e . &&
        # what the package declares is enough for a report
        "$venv/bin/evaltools" report cr example:cr/no_memory__seed1_proposed -q -o "$venv/report" &&
        "$venv/bin/uv" pip install -q --python "$venv/bin/python" -e '.[dev]'
}

browser() {
    if command -v chromium >/dev/null || [ -n "${EVALTOOLS_CHROMIUM:-}" ]; then
        return
    fi
    if command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
        apt-get -o DPkg::Lock::Timeout=300 update -qq &&
            DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 install -y -qq --no-install-recommends chromium
    else
        echo "no chromium found: browser tests will be skipped (install chromium or set EVALTOOLS_CHROMIUM)"
    fi
}

lint() {
    ruff check . && ruff format --check .
}

step "virtual environment" environment
if [ ${#failed[@]} -gt 0 ]; then
    exit 1
fi
export PATH="$PWD/$venv/bin:$PATH"

step "browser" browser
step "lint" lint
step "types" mypy
step "budget" python scripts/house.py
step "notebooks (nbval, strict)" pytest -q --nbval notebooks -p no:cacheprovider --nbval-kernel-name python3
# whatever reads the reference runs must be skipped, not fail, on a machine without them
step "tests without the reference runs" env EVALTOOLS_REFERENCE=/nonexistent pytest -q -m reference
# more workers than cores: many tests wait for processes of their own
# without the plugin of the notebooks, which every process would load
step "tests" pytest -q -p no:nbval -n 3 --dist loadfile --no-loadscope-reorder

if [ ${#failed[@]} -gt 0 ]; then
    printf '\nfailed: %s\n' "$(IFS=,; echo "${failed[*]}")"
    exit 1
fi
printf '\nall steps passed\n'
