#!/bin/bash
set -euo pipefail

./configure --prefix="${PREFIX}" --without-cuda
make -j"${CPU_COUNT:-1}"
make install
