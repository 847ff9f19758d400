#!/bin/bash
set -euo pipefail

./configure --prefix="${PREFIX}" --without-cuda --with-lapack --with-libdeflate
make -j"${CPU_COUNT:-1}"
make install
