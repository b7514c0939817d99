#!/usr/bin/env bash
# Installs a wheel into a new environment outside of the repository, and runs every command there.
#
#     tools/try_wheel.sh dist/qduet-0.1.0-py3-none-any.whl
#
# PYTHON chooses the interpreter. About five minutes, most of it the installation.
set -euo pipefail
wheel=$(realpath "$1")
constraints=$(realpath "$(dirname "$0")/../constraints.txt")
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
unset PYTHONPATH
"${PYTHON:-python3}" -m venv "$place/venv"
"$place/venv/bin/python" -m pip install --quiet --constraint "$constraints" "qduet[gym] @ file://$wheel"
export PATH="$place/venv/bin:$PATH"
mkdir "$place/empty"
cd "$place/empty"

try() {
  echo "== $*"
  "$@" >"$place/output" 2>&1 || { code=$?; cat "$place/output"; exit "$code"; }
  tail -n 2 "$place/output"
}

try qduet --version
try qduet reproduce --scale smoke
try qduet theory --mdps 2 --out out/theory
try qduet certify
try qduet compare --resamples 100
try qduet watch
try qduet watch rdq Breakout --frames 100
try qduet watch dqn Seaquest
try qduet train rdq MinAtar/Breakout-v1 --steps 2_000 --episodes 5 --out out/breakout
try qduet watch out/breakout --frames 50
try qduet report
try qduet example
try qduet example own_game --out own_game.py
try python own_game.py out-catch
echo "all commands work from the wheel"
