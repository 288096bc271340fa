# The ways into Rondo. Everything a target needs is installed first by
# scripts/setup; SETUP=true skips that on a machine set up by hand.

SETUP ?= scripts/setup
JOBS ?= $(shell nproc)
# More options for cmake, for example CMAKE_ARGS=-DRONDO_WERROR=ON.
CMAKE_ARGS ?=
PYTHON = .venv/bin/python

.DEFAULT_GOAL := help
.PHONY: help demo test build torch test-torch asan tsan fuzz debug bench lint format \
  clean setup-%

help:
	@echo 'make demo     set up, build, and train a network with four workers'
	@echo 'make test     set up, build, and run every test'
	@echo 'make build    set up and build into build/; the command is build/rondo'
	@echo 'make torch    build what is for PyTorch too: rondo.torch, DDP in C++'
	@echo 'make test-torch  install PyTorch, build rondo.torch and test it'
	@echo 'make debug    the same without optimisation, into build-debug/'
	@echo 'make asan     build and test with the address and UB sanitizers'
	@echo 'make tsan     build and test with the thread sanitizer'
	@echo 'make fuzz     feed what comes from the wire with arbitrary bytes'
	@echo 'make bench    compare with Open MPI, MPICH and Gloo'
	@echo 'make lint     check format, layers, clang-tidy and ruff'
	@echo 'make format   rewrite the sources in the project'\''s format'
	@echo 'make clean    remove what was built (.venv stays)'

setup-%:
	@$(SETUP) $*

# $(call configure,PRESET): its output matters only when it fails.
configure = echo 'cmake --preset $(1) $(CMAKE_ARGS)'; \
	  log=$$(cmake --preset $(1) $(CMAKE_ARGS) 2>&1) \
	  || { echo "$$log"; exit 1; }

# A network that learns Fashion-MNIST within a minute or two on two cores. What it
# leaves goes where a second demo may overwrite it.
demo: setup-demo
	@$(call configure,release)
	cmake --build build -j $(JOBS) --target rondo_cli hello
	@rm -rf build/demo
	build/rondo train lenet --data fashion-mnist -n 4 --strategy ring --epochs 3 \
	  --batch 128 --lr 0.05 --decay cosine --speedup \
	  --checkpoint build/demo/checkpoint --logdir build/demo/summary

build: setup-build
	@$(call configure,release)
	cmake --build build -j $(JOBS)

test: setup-test build
	ctest --preset release -j $(JOBS)
	@tests=$$(find python/tests tests -path tests/pytorch -prune \
	    -o -name '*_test.py' -print -o -name 'test_*.py' -print \
	    2>/dev/null); \
	  if [ -n "$$tests" ]; then \
	    set -x; $(PYTHON) -m pytest -q --timeout=120 $$tests; fi

torch: setup-torch
	@$(call configure,release -DRONDO_TORCH=ON)
	cmake --build build -j $(JOBS) --target rondo_torch rondo_libtorch _core rondo_cli

test-torch: setup-test torch
	cmake --build build -j $(JOBS) --target rondo_libtorch_test rondo_ddp_trainer \
	  torch_fashion_mnist
	build/tests/torch_test
	$(PYTHON) -m pytest -q --timeout=120 tests/pytorch

debug: setup-build
	@$(call configure,debug)
	cmake --build --preset debug -j $(JOBS)

asan tsan: setup-lint
	@$(call configure,$@)
	cmake --build --preset $@ -j $(JOBS)
	ctest --preset $@ -j $(JOBS)

fuzz: setup-lint
	@$(call configure,asan)
	cmake --build --preset fuzz -j $(JOBS)
	scripts/fuzz build-asan

bench: setup-bench build
	bench/compare

lint: setup-lint
	@scripts/check_layers --self-test
	@scripts/check_layers
	@scripts/check_docs
	@scripts/format --check
	@$(call configure,lint)
	@cmake --build build-lint --target rondo_generated > /dev/null
	@scripts/tidy build-lint

format: setup-lint
	@scripts/format

clean:
	rm -rf build build-debug build-asan build-tsan build-lint \
	  python/rondo/*.so python/rondo/torch/*.so .pytest_cache .ruff_cache
