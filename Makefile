# The shared entry for people and for CI. `make help` lists the targets.

SWIFT ?= swift
# Media tests measure milliseconds: tests that compete with them for two cores would be measured too.
TESTFLAGS ?= --no-parallel
CONFIG ?= deploy/mixorchestrator.yaml
BUILD_DIR ?= .build
# A debug build takes 18 ms for each; a million are five hours.
FUZZ_REQUESTS ?= 50000
LONG_ATTACKS := --rooms 1000000 --tasks 3500 --kills 200 --stores 500 --relays 100
export KEEP BUILD_DIR SWIFT

SWIFTFLAGS := --scratch-path $(BUILD_DIR)

.DEFAULT_GOAL := help
.PHONY: help setup build demo test test-long run check format bench fuzz clean

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(firstword $(MAKEFILE_LIST)) | expand -t 10

setup: ## install what is missing (Debian 12; root or sudo)
	@deploy/setup.sh

build: setup ## build everything but the tests
	$(SWIFT) build $(SWIFTFLAGS)

demo: build ## show bypass → mix → bypass on real streams and measure the seam; KEEP=1 keeps it running
	@deploy/demo.sh

test: ## build and run all tests
	@deploy/setup.sh --tests
	$(SWIFT) build $(SWIFTFLAGS) --build-tests
	@scripts/test.sh $(BUILD_DIR) $(TESTFLAGS)

test-long: ## what `make test` does in a short form: a million rooms, 50000 spoilt requests, 200 kills, 100 relays
	@deploy/setup.sh --tests
	$(SWIFT) build $(SWIFTFLAGS) --build-tests
	MIX_FUZZ_REQUESTS=$(FUZZ_REQUESTS) MIX_ROOMS=90000 $(SWIFT) test $(SWIFTFLAGS) --skip-build --no-parallel \
		--filter 'FuzzTests|RoomFloodTests'
	@scripts/attack.sh $(BUILD_DIR)/debug/mixorchestrator $(LONG_ATTACKS)

run: build ## run the service with deploy/mixorchestrator.yaml (CONFIG=FILE for another)
	$(BUILD_DIR)/debug/mixorchestrator serve --config $(CONFIG)

check: setup ## format, warnings, module edges, link line, scripts
	@scripts/check.sh

format: ## rewrite the sources as `make check` wants them
	$(SWIFT) format --in-place --recursive --parallel Package.swift Sources Tests Benchmarks

bench: setup ## benchmarks of the pure modules and of the whole service, optimised
	@scripts/bench.sh

fuzz: setup ## break layout files a million times and give them to the decoder
	@scripts/bench.sh fuzz

clean: ## remove everything that was built
	rm -rf $(BUILD_DIR) $(BUILD_DIR)-pure $(BUILD_DIR)-bench demo-out
