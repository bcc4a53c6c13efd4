# The shared entry for people and for CI. `make help` lists the targets.

SWIFT ?= swift
CONFIG ?= deploy/mixorchestrator.yaml
BUILD_DIR ?= .build
# A debug build takes 18 ms for each; a million are five hours.
FUZZ_REQUESTS ?= 50000
# Those whose number of rounds is a TestLength, and what takes a number from the environment.
LONG_TESTS := FuzzTests|RoomFloodTests|SwitchingTests/switchesAtRandomTimes|SwitchingTests/aThousandSwitchesInARow|LeakTests/joinsAndLeaves|CrashTests
LONG_TESTS := $(LONG_TESTS)|BrowserTests/theWatchPagePlaysAcrossSwitches|HostileStreamTests/anyStream|OverloadControllerTests/levelsSettle
LONG_TESTS := $(LONG_TESTS)|ChannelLoadTests|ProgramMoveTests|PostgreSQLFailoverTests|ClusterHistoryTests|ClusterPublisherHistoryTests|NodeLossTests|ClusterDatabaseTests|ClusterUpgradeTests
LONG_TESTS := $(LONG_TESTS)|BypassClockTests/anyTrouble|BypassClockTests/drift|SourceQuarantineTests/culprit|SourceMatrixTests/aStreamIsCopied
LONG_TESTS := $(LONG_TESTS)|BypassTests|RecordingTests/recordingsComeAndGoOnAir|StallTests|SlateTests|SourceChangeTests|CodecMatrixTests
LONG_TESTS := $(LONG_TESTS)|MixerProgramTests/encoder|SocketIOReaderTests|EngineIOPayloadTests|SocketIOServerTests|WebRTCOfferTests
LONG_TESTS := $(LONG_TESTS)|PlayMachineTests|WebRTCSessionMachineTests|StorageAnswerTests|UploadMachineTests|PostgreSQLLossTests
LONG_TESTS := $(LONG_TESTS)|BusyMachineTests|FirstMixTests|WhipSeamTests|IngestServerTests/strangersDisturbNobody|RTMPServerTests/anythingIsSurvived|PullMatrixTests|MoveMachineTests/noMove|RequestCostTests|ChannelMirrorTests/everyFollower
LONG_TESTS := $(LONG_TESTS)|MixerLossTests|PageDriftTests|DriftTests|MixMoveTests|MakeRunTests/twoEncoders|OverloadTests/tooManyMixes|TwinTests/killedMixers
LONG_TESTS := $(LONG_TESTS)|SwitchingTests/aHostWithBFrames|CongestionTests
LONG_ATTACKS := --rooms 1000000 --tasks 3500 --kills 200 --stores 500 --relays 100
export KEEP CDN BUILD_DIR SWIFT

SWIFTFLAGS := --scratch-path $(BUILD_DIR)
# Of building and running tests.
TEST_OPTIONS ?=
export TEST_OPTIONS

.DEFAULT_GOAL := help
.PHONY: help setup build demo cluster test test-fast test-long soak run check format bench bench-media chaos fuzz clean

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(firstword $(MAKEFILE_LIST)) | expand -t 13

setup: ## install missing packages (Debian 12; root or sudo)
	@deploy/setup.sh

build: setup ## build everything except the tests
	$(SWIFT) build $(SWIFTFLAGS)

demo: build ## show bypass → mix → bypass on real streams and measure the seam; KEEP=1 keeps it running, CDN=nginx uses nginx
	$(if $(filter nginx,$(CDN)),@deploy/setup.sh --nginx)
	@deploy/demo.sh

cluster: ## build, run three nodes on PostgreSQL with a synchronous standby on loopback, with a room that moves; KEEP=1 keeps them running
	@deploy/setup.sh --cluster
	$(SWIFT) build $(SWIFTFLAGS)
	@deploy/cluster.sh

test: ## build and run all tests
	@deploy/setup.sh --tests
	$(SWIFT) build $(SWIFTFLAGS) $(TEST_OPTIONS) --build-tests
	@scripts/test.sh $(BUILD_DIR)

test-fast: setup ## build, and run the tests of the pure targets and of the store
	$(SWIFT) build $(SWIFTFLAGS) $(TEST_OPTIONS) --build-tests
	@scripts/test.sh $(BUILD_DIR) fast

test-long: ## run the long form of some tests: a million rooms and crafted streams, 50000 malformed requests, 200 kills, 100 relays, 100 joins, 1000 switches, 50 failovers, 200 histories of a cluster
	@deploy/setup.sh --tests
	$(SWIFT) build $(SWIFTFLAGS) $(TEST_OPTIONS) --build-tests
	MIX_LONG=1 MIX_FUZZ_REQUESTS=$(FUZZ_REQUESTS) MIX_ROOMS=90000 \
		scripts/test.sh $(BUILD_DIR) --filter '$(LONG_TESTS)'
	@scripts/attack.sh $(BUILD_DIR)/debug/mixorchestrator $(LONG_ATTACKS)

soak: build ## run four rooms for MINUTES (60) and report processes that grow
	@deploy/setup.sh --nginx
	@scripts/soak.py --binary $(BUILD_DIR)/debug --minutes $(or $(MINUTES),60)

run: build ## run the service with deploy/mixorchestrator.yaml (CONFIG=FILE for another file)
	$(BUILD_DIR)/debug/mixorchestrator serve --config $(CONFIG)

check: setup ## check format, warnings, module edges, folders, link line, scripts, examples, instruction and allocation counts
	@scripts/check.sh

format: ## format the sources as `make check` requires
	$(SWIFT) format --in-place --recursive --parallel Package.swift Sources Tests Benchmarks

bench: ## benchmark the pure modules, the whole service and its RTMP destinations, with optimisation
	@deploy/setup.sh --nginx
	@scripts/bench.sh

bench-media: ## compare bypass, mix, density, switches and latency with ffmpeg over RTMP: more than an hour
	@deploy/setup.sh --nginx
	@scripts/bench.sh media

chaos: build ## inject faults into a service on air for MINUTES (5), with SEED, and print their effects on a viewer
	@deploy/setup.sh --nginx
	@scripts/chaos.sh --minutes $(or $(MINUTES),5) $(if $(SEED),--seed $(SEED))

fuzz: setup ## fuzz each of the eleven entry points for untrusted input with libFuzzer, for SECONDS_EACH (60)
	@scripts/fuzz.sh

clean: ## remove all build products
	rm -rf $(BUILD_DIR) $(BUILD_DIR)-pure $(BUILD_DIR)-media $(BUILD_DIR)-control $(BUILD_DIR)-bench $(BUILD_DIR)-fuzzer
	rm -rf demo-out bench-out chaos-out fuzz-out
