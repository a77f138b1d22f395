# Makefile - set up and go: `make run` measures, `make test` checks everything.
#
# Both install what is missing first: system packages by apt (as root or by sudo without a
# password, otherwise they print the line to type), then .venv with this package in it.
PYTHON ?= python3
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.PHONY: run test lint dev asan core sanitizers tidy python packages
ifeq ($(MAKELEVEL),0)
.NOTPARALLEL: # but for what `test` runs: .venv/run and .venv/test share a folder
endif

export VIRTUAL_ENV := $(CURDIR)/.venv
export PATH := $(VIRTUAL_ENV)/bin:$(PATH)
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_ROOT_USER_ACTION := ignore
unexport PYTHONDONTWRITEBYTECODE # else each rank compiles NumPy anew
unexport MAKEFLAGS               # else ninja looks for a jobserver that is not its own

C := $(shell find csrc kernels tests benchmarks -name '*.[ch]' -o -name '*.cl')

run: .venv/run
	@mkdir -p results
	hpccfpga run b_eff --ranks 2 --exchange pcie --reps 40 --rounds 20 --calibrate \
	    --json results/b_eff.json --plot results/b_eff.png

# First what only computes, two at a time; the C core is built while pip unpacks the rest. Then
# tests, whose ranks wait for each other: beside a program that computes, two ranks on two cores
# take up to ten times as long.
test: .venv/build
	make --no-print-directory --jobs=2 --output-sync=target dev .venv/test lint tidy asan
	make --no-print-directory core sanitizers python

lint: .venv/test
	pre-commit run --all-files --show-diff-on-failure

# Tests in C and in Python, and the analyser, share one build: two at a time would spoil it.
dev: .venv/build
	cmake --preset dev
	cmake --build --preset dev

core: dev # but for what `sanitizers` runs
	ctest --preset dev --label-exclude sanitized

asan: .venv/build | dev
	cmake --preset asan
	cmake --build --preset asan

sanitizers: asan
	ctest --preset asan

# One file at a time: of several, the analyser takes va_list of a later one for uninitialized. The
# program itself: a start by Python, as .venv/bin has it, costs a fifth more.
tidy: dev .venv/test
	printf '%s\n' $(filter csrc/%.c,$(C)) | \
	    xargs -n 1 -P 2 .venv/lib/python3*/site-packages/clang_tidy/data/bin/clang-tidy --quiet -p build/dev 2>&1 | \
	    sed '/warnings\? generated/d'

# Three workers on two cores, since tests wait for a part of their time; with more the ranks of some
# wait for cores.
python: dev .venv/test
	+python -m pytest -n 3 --dist worksteal

# One stamp per kind of install: .venv/build has what builds the package, .venv/run what a user
# needs, .venv/test also the tools.
# The build folder, which both use, would keep it.
.venv/run: private export SKBUILD_CMAKE_DEFINE := HF_WERROR=OFF
.venv/test: private export SKBUILD_CMAKE_DEFINE := HF_WERROR=ON
.venv/run .venv/test: pyproject.toml CMakeLists.txt $(filter csrc/% kernels/%,$(C)) | .venv/build
	python -m pip install -q --no-compile --no-build-isolation -e '.$(if $(filter %/test,$@),[dev])'
	@touch .venv/run $@

.venv/build: pyproject.toml | packages
	@echo "setting up .venv (the first time takes some minutes)"
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	    { echo "hpccfpga needs Python >= 3.11: make PYTHON=/path/to/python3.11 ..."; exit 1; }
	@test -x .venv/bin/pip || $(PYTHON) -m venv --clear .venv
	python -m pip install -q --no-compile 'scikit-build-core>=0.10' 'numpy>=2' cmake ninja
	@touch $@

# What a machine lacks, as names of Debian packages: $(call lacks,COMMAND,PACKAGE).
lacks = $(shell { $(1); } >/dev/null 2>&1 || echo $(2))
packages:
	@lacking="$(strip \
	    $(call lacks,command -v cc,build-essential) \
	    $(call lacks,$(PYTHON) -c 'import ensurepip',python3-venv) \
	    $(call lacks,$(PYTHON) -c 'import sysconfig as s; open(s.get_path("include") + "/Python.h")',python3-dev) \
	    $(call lacks,command -v mpicc,libopenmpi-dev) \
	    $(call lacks,command -v mpirun,openmpi-bin) \
	    $(call lacks,cc -include CL/cl.h -E -x c /dev/null,opencl-headers) \
	    $(call lacks,cc -print-file-name=libOpenCL.so | grep /,ocl-icd-opencl-dev) \
	    $(call lacks,ls $${OCL_ICD_VENDORS:-/etc/OpenCL/vendors}/*.icd,pocl-opencl-icd) \
	    $(if $(filter test,$(MAKECMDGOALS)),$(call lacks,command -v valgrind,valgrind)))"; \
	test -n "$$lacking" || exit 0; \
	if [ "$$(id -u)" = 0 ]; then sudo=; elif sudo -n true 2>/dev/null; then sudo="sudo -n"; else sudo=no; fi; \
	if [ "$$sudo" = no ] || ! command -v apt-get >/dev/null; then \
	    echo "missing here; please type this line and try again:"; \
	    echo "  sudo apt-get update && sudo apt-get install -y $$lacking"; exit 1; \
	fi; \
	echo "installing $$lacking"; \
	apt="$$sudo env DEBIAN_FRONTEND=noninteractive apt-get -qq"; \
	$$apt update; \
	$$apt install -y --no-install-recommends $$lacking >/dev/null
