# kube-granular. `make help` says what there is.

GO      ?= go
BIN     := bin
UP_ARGS ?=
RACE_ARGS ?=
UPSTREAM_ARGS ?=
# Folders of patches to be left out, of those that patches/series calls optional.
SERIES_WITHOUT ?=

# All binaries are static, as upstream's releases are: what is tested is, byte for byte, what
# `make image` packs. Only the race detector needs cgo.
CGO_ENABLED ?= 0
export CGO_ENABLED

# The same tree makes the same binary wherever it lies.
GOFLAGS ?= -trimpath -buildvcs=false
export GOFLAGS

# A pre-release has a version that the file VERSION does not know: RELEASE_VERSION=v0.1.0-rc.1
RELEASE_VERSION ?= $(shell hack/version.sh granular)
VERSION_SCRIPT = RELEASE_VERSION=$(RELEASE_VERSION) hack/version.sh

# What the server and kubectl say of themselves: the version of Kubernetes in go.mod, that of the file VERSION, and
# a digest of the sources in place of a commit. So the same sources make the same binary in every commit.
KUBE_VERSION := $(shell hack/version.sh kubernetes)
GIT_VERSION  := $(shell $(VERSION_SCRIPT) server)
DIGEST       := $(shell hack/version.sh digest)
KUBE_MAJOR   := $(shell echo $(KUBE_VERSION) | sed 's|^v\([0-9]*\)\..*|\1|')
KUBE_MINOR   := $(shell echo $(KUBE_VERSION) | sed 's|^v[0-9]*\.\([0-9]*\)\..*|\1|')

# No date and no commit: a binary is linked anew when the sources change, not with
# every commit.
LDFLAGS := $(foreach p,k8s.io/client-go/pkg/version k8s.io/component-base/version,\
	-X $(p).gitVersion=$(GIT_VERSION) -X $(p).gitMajor=$(KUBE_MAJOR) -X $(p).gitMinor=$(KUBE_MINOR) \
	-X $(p).gitCommit=$(DIGEST) -X $(p).gitTreeState=clean)

# The controller of tenants and its plugins run on any server, so they have the version of kube-granular alone.
TENANCY_LDFLAGS := $(addprefix -X k8s.io/client-go/pkg/version.,gitVersion=$(shell $(VERSION_SCRIPT) granular) \
	gitCommit=$(shell hack/version.sh tenancy) gitTreeState=clean)

# Our modules that go.work joins; the upstream tree's tests are test-upstream's.
PACKAGES := ./hack/upstream/... ./staging/src/kube-granular.dev/granular/... ./api/... ./test/cedar/... ./test/history/... ./... ./test/bench/...
SOURCES  := $(wildcard api cmd pkg speed hack patches test staging tenancy examples)

# The controller of tenants is built against released modules, and is no part of the workspace.
TENANCY := GOWORK=off $(GO) -C tenancy
# So is the example of a controller.
COPIER  := GOWORK=off $(GO) -C examples/copier
# So is what packs images.
IMAGE   := GOWORK=off $(GO) -C hack/image

# The version of the tool that makes tables of benchmarks.
BENCHSTAT := v0.0.0-20260908200009-22c9c6c9d4da

# step runs a command, and says on standard error what it is, every ten seconds
# how long it has been at it, and at the end how long it took.
# $(call step,what,command)
define step
@start=$$(date +%s); \
echo "==> $(1)" >&2; \
( while sleep 10 >/dev/null 2>&1 && kill -0 $$$$ 2>/dev/null; do \
	echo "    $(1): $$(( $$(date +%s) - start )) s so far" >&2; done ) & beat=$$!; \
trap 'kill $$beat 2>/dev/null' EXIT; trap 'exit 130' INT TERM; \
$(2) || { echo "    $(1): failed after $$(( $$(date +%s) - start )) s" >&2; exit 1; }; \
echo "    $(1): $$(( $$(date +%s) - start )) s" >&2
endef

# $(call build,binary,package)
build = $(call step,build $(1),$(GO) build -ldflags '$(LDFLAGS)' -o $(1) $(2))

# A kubectl of the server's minor version, unless there is one.
ifneq ($(filter up,$(MAKECMDGOALS)),)
KUBECTL_MISSING := $(shell kubectl version --client --output json 2>/dev/null | \
	grep -q '"minor": "$(KUBE_MINOR)"' || echo $(BIN)/kubectl)
endif

.DEFAULT_GOAL := help

##@ Use

.PHONY: up
up: upstream $(BIN)/kube-granular $(BIN)/kubectl-granular $(KUBECTL_MISSING) $(if $(findstring --tenancy,$(UP_ARGS)),tenancy) ## Build and run a local cluster; UP_ARGS="--port 0 …" passes flags to `kube-granular up`
	@exec $(BIN)/kube-granular up $(UP_ARGS)

.PHONY: down
down: ## Stop the local cluster and delete its data; DOWN_ARGS="--dir …" names another directory
	@if [ -x $(BIN)/kube-granular ]; then $(BIN)/kube-granular down --delete $(DOWN_ARGS); else echo "nothing was built here, so no cluster runs"; fi

.PHONY: build
build: upstream $(BIN)/kube-apiserver $(BIN)/kube-granular $(BIN)/kubectl $(BIN)/kubectl-with $(BIN)/kubectl-granular $(BIN)/etcd $(BIN)/example-webhook ## Build kube-apiserver, kube-granular, kubectl, its plugins, etcd and example-webhook into bin

.PHONY: kubectl-granular
kubectl-granular: upstream $(BIN)/kubectl-granular ## Build bin/kubectl-granular, the kubectl plugin `kubectl granular`

PLUGIN_VERSION ?= $(RELEASE_VERSION)
# Where the archives will be, for krew's manifests. A release without it has no such manifests.
PLUGIN_URL     ?=

# Of the platforms, only Linux has servers.
PLATFORMS ?= darwin/amd64 darwin/arm64 linux/amd64 linux/arm64 windows/amd64 windows/arm64
empty :=
comma := ,
PACK = $(GO) run ./hack/pack --version $(PLUGIN_VERSION) --url $(or $(PLUGIN_URL),https://example.com/kube-granular/$(PLUGIN_VERSION)) --ldflags '$(LDFLAGS)' --tenancy-ldflags '$(TENANCY_LDFLAGS)' --out $(BIN)/plugin \
	--platform $(subst $(empty) ,$(comma),$(strip $(PLATFORMS)))

.PHONY: plugin-archives
plugin-archives: upstream ## Write archives of kubectl-granular for all platforms, checksums and a krew manifest to bin/plugin; PLUGIN_VERSION=v0.1.0 PLUGIN_URL=https://…
	$(PACK) --program kubectl-granular

.PHONY: archives
archives: upstream ## Write archives of all programs to bin/plugin, as plugin-archives does of one; PLATFORMS="linux/amd64 …"
	@rm -rf $(BIN)/plugin
	$(PACK)

# kubeadm and kind ask for images below IMAGE_REPOSITORY, by the version.
IMAGE_ARCHS      ?= amd64 arm64
IMAGE_REPOSITORY ?= registry.k8s.io

.PHONY: image
image: upstream ## Write images of kube-apiserver to bin/image, without a daemon: archives, an OCI layout, SBOMs; IMAGE_ARCHS="amd64 arm64"
	$(call step,images of kube-apiserver,GO=$(GO) IMAGE_REPOSITORY=$(IMAGE_REPOSITORY) hack/image.sh kube-apiserver '$(LDFLAGS)' $(BIN)/image $(IMAGE_ARCHS))

.PHONY: image-tenancy
image-tenancy: ## Write images of the controller of tenants to bin/image, in the same way; OWN_IMAGE_REPOSITORY=registry.example.com
	$(call step,images of tenancy-controller,GO=$(GO) hack/image.sh tenancy-controller '$(TENANCY_LDFLAGS)' $(BIN)/image $(IMAGE_ARCHS))

.PHONY: image-local
image-local: upstream ## Write images of kube-granular, the server with etcd, to bin/image, in the same way
	$(call step,images of kube-granular,GO=$(GO) hack/image.sh kube-granular '$(LDFLAGS)' $(BIN)/image $(IMAGE_ARCHS))

export OWN_IMAGE_REPOSITORY PLUGIN_URL PLATFORMS IMAGE_ARCHS IMAGE_REPOSITORY SERIES_WITHOUT RELEASE_KEY RELEASE_BUILDER RELEASE_REPOSITORY

# A release is compiled by the Go that upstream uses for its version: the standard library is a part of the server, and the
# bytes do not depend on the Go of the machine.
RELEASE_TOOLCHAIN = go$(shell cat upstream/kubernetes/.go-version)

.PHONY: release
release: release-notes upstream ## Write a release to bin/release: images, archives, manifests, a chart, the series for git am, checksums, signatures; RELEASE_VERSION=v0.1.0-rc.1 RELEASE_KEY=FILE RELEASE_BUILDER=URI
	@commit=$$(git rev-parse HEAD) && GOTOOLCHAIN=$(RELEASE_TOOLCHAIN) $(MAKE) image image-tenancy image-local archives && \
		RELEASE_COMMIT=$$commit $(MAKE) --no-print-directory release-files
	@if [ -n "$$RELEASE_KEY" ]; then $(MAKE) --no-print-directory release-sign; else echo "not signed, and without provenance: RELEASE_KEY names no key" >&2; fi

# The last steps of a release, of what was built before. They are not for people.
.PHONY: release-files
release-files:
	$(call step,release,GOTOOLCHAIN=$(RELEASE_TOOLCHAIN) GO=$(GO) hack/release.sh $(RELEASE_VERSION) $(BIN)/release $(BIN)/image $(BIN)/plugin '$(LDFLAGS)')

.PHONY: release-sign
release-sign: ## Sign the release in RELEASE_DIR, bin/release, on a machine that has the key and the sources; RELEASE_KEY=FILE RELEASE_BUILDER=URI
	@GO=$(GO) hack/release-sign.sh $(RELEASE_VERSION) $(or $(RELEASE_DIR),$(BIN)/release)

.PHONY: release-twice
release-twice: release-notes ## Build the release in bin/release again, at another path, and fail if a file differs; RELEASE_CACHE=empty compiles all anew
	$(call step,the same release again,hack/release-twice.sh $(RELEASE_VERSION))

.PHONY: release-verify
release-verify: ## Verify the signatures, the version and the files in RELEASE_DIR, bin/release; RELEASE_PUBLIC_KEY=FILE RELEASE_VERSION=v0.1.0
	@GOWORK=off $(GO) -C hack/attest run . verify --key $(abspath $(RELEASE_PUBLIC_KEY)) --version $(RELEASE_VERSION) $(abspath $(or $(RELEASE_DIR),$(BIN)/release))

.PHONY: release-notes
release-notes: ## Fail if RELEASE_VERSION can't be released: the CHANGELOG has no changes, or the tree is not committed
	@hack/release-notes.sh $(RELEASE_VERSION) >/dev/null

.PHONY: tenancy
tenancy: ## Build bin/tenancy-controller and the kubectl plugins sudo, lns and create-lns, with their completions
	$(call step,build tenancy,$(TENANCY) build -ldflags '$(TENANCY_LDFLAGS)' -o $(CURDIR)/$(BIN)/ ./cmd/...)
	@cp tenancy/cmd/kubectl-*/kubectl_complete-* $(BIN)/

.PHONY: tenancy-bigquery
tenancy-bigquery: ## Build bin/tenancy-controller-bigquery, the controller of tenants that writes bills to BigQuery
	$(call step,build tenancy-bigquery,GOWORK=off $(GO) -C tenancy/bigquery build -ldflags '$(TENANCY_LDFLAGS)' -o $(CURDIR)/$(BIN)/tenancy-controller-bigquery .)

.PHONY: examples
examples: ## Build bin/copier, an example of a controller that acts for others
	$(call step,build examples,$(COPIER) build -o $(CURDIR)/$(BIN)/ .)

# What hack/kind reads: KIND_NODES=1|3, KIND_GATES, KIND_AUDIT_POLICY, KIND_OFFLINE=1, KIND_DIR, KIND_NAME.
export KIND_NODES KIND_GATES KIND_OFFLINE KIND_DIR KIND_NAME KIND_PURGE

.PHONY: kind
kind: upstream ## Create a kind cluster with the patched server; KIND_NODES=1 or 3, KIND_OFFLINE=1 pulls nothing, KIND_GATES="A=true,…"
	@GO=$(GO) hack/kind/up

.PHONY: kind-down
kind-down: ## Stop the kind cluster KIND_NAME, and after the last one the programs that they started; KIND_PURGE=1 also removes what was built for it
	@hack/kind/down

.PHONY: clean
clean: ## Remove built files and the local cluster's data; the upstream tree stays
	rm -rf $(BIN) .kube-granular

.PHONY: help
help: ## List all targets
	@awk 'BEGIN { FS = ":.*## " } \
		/^##@/ { printf "\n%s\n", substr($$0, 5) } \
		/^[a-z][a-z-]*:.*## / { printf "  %-18s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

##@ Develop

.PHONY: upstream
upstream: ## Bring upstream/kubernetes up to date: materialise, patch, generate, write go.work; SERIES_WITHOUT=speed leaves out that folder of patches
	$(call step,upstream/kubernetes,GO=$(GO) hack/upstream/run apply $(addprefix --without ,$(SERIES_WITHOUT)))

.PHONY: test
test: build tenancy examples ## Run all tests: library, patches, tools, units, and integration against the real server
	@GO=$(GO) hack/test.sh $(PACKAGES)

# It compiles kube-apiserver once more, so it is not part of `make verify`, which only loads its packages.
.PHONY: series-builds
series-builds: upstream ## Build kube-apiserver in the tree that git am makes of the series, with the patches that only a release has
	@series=$$(mktemp -d); trap 'rm -rf "$$series"' EXIT; hack/upstream/run export --out "$$series" >/dev/null && \
	GO=$(GO) hack/series-complete.sh "$$series" '$(LDFLAGS)'

# It compiles most of Kubernetes once more, so it is not part of `make test`.
.PHONY: test-without-speed
test-without-speed: upstream ## Build and test the project without the folders patches/speed and speed, in a copy
	$(call step,build and test without speed,GO=$(GO) test/patches/without-speed)
	test/patches/series-digest > test/patches/without-speed.passed

.PHONY: test-kind
test-kind: upstream tenancy ## Test a whole kind cluster: controllers, pods, tenants, and callers that may change only single fields
	@GO=$(GO) hack/kind/test cluster

.PHONY: test-kind-ha
test-kind-ha: upstream $(BIN)/kube-apiserver-unpatched ## Test three servers and etcd members under load: rolling restarts, kills, a partition, a full disk, an unpatched server
	@GO=$(GO) hack/kind/test ha

.PHONY: test-kind-e2e
test-kind-e2e: upstream ## Run upstream's conformance tests of the API server and of authorization against the kind cluster
	@GO=$(GO) hack/kind/test e2e

.PHONY: test-kind-release
test-kind-release: upstream $(BIN)/kube-apiserver-unpatched ## Try the release in bin/release, RELEASE_DIR, as an operator would, without Go; RELEASE_PUBLIC_KEY verifies its signature
	@GO=$(GO) RELEASE_DIR=$(RELEASE_DIR) RELEASE_PUBLIC_KEY=$(RELEASE_PUBLIC_KEY) hack/kind/test release

.PHONY: test-kind-soak
test-kind-soak: upstream ## Put load on a kind cluster with every gate for two hours, SOAK_DURATION, and look for errors and for memory that grows
	@GO=$(GO) hack/kind/test soak

.PHONY: test-kind-closed
test-kind-closed: upstream tenancy ## Test a kind cluster in which FieldPermissions close every field that they can, with upstream's tests of controllers
	@GO=$(GO) hack/kind/test closed

.PHONY: test-kind-registries
test-kind-registries: upstream ## Test `make kind` as on a machine with Docker and registries, which a proxy stands in for; needs root
	@GO=$(GO) hack/kind/test registries

.PHONY: test-denials
test-denials: build ## Check that each test of a denied path fails on a server that treats a Deny as no opinion
	GO=$(GO) test/integration/chain/without-denials

.PHONY: test-unpatched
test-unpatched: $(BIN)/kube-granular $(BIN)/kubectl $(BIN)/kube-apiserver-unpatched ## Run a server without the patches beside a patched one, on the same etcd
	KUBE_GRANULAR_REQUIRE_UNPATCHED=1 $(GO) test -count=1 ./test/integration/unpatched -crossed 1000000
	KUBE_GRANULAR_REQUIRE_UNPATCHED=1 $(GO) test -count=1 ./test/docs -run "TestManagedClusters|TestUpgrade"

.PHONY: fuzz
fuzz: upstream ## Run every fuzzer for FUZZTIME: a count (20000x) or a time (1h); FUZZ=REGEXP selects some, FUZZ_KEEP=20 keeps so many inputs that they found
	hack/fuzz.sh

SHARE          ?= 250
VERSIONS_SHARE ?= 100
CEDAR_WRITES   ?= 250000
ROUNDS         ?= 15

.PHONY: proofs
proofs: upstream $(BIN)/kube-apiserver $(BIN)/kube-apiserver-unpatched $(BIN)/kubectl $(BIN)/e2e.test $(BIN)/ginkgo ## Prove what docs/proofs.md says: every small world (one of SHARE; SHARE=1 takes hours), those of several versions (one of VERSIONS_SHARE), Cedar, what can be granted, models if Spin is installed, histories of three servers, and that no client can tell our server from upstream's
	cd staging/src/kube-granular.dev/granular && $(GO) test -count=1 -timeout 0 -v -run TestEveryWorld ./rule/worlds -share=$(SHARE)
	$(GO) test -count=1 -timeout 0 -v ./test/versions -share=$(VERSIONS_SHARE)
	$(GO) test -count=1 -timeout 0 -v ./test/cedar -writes=$(CEDAR_WRITES)
	$(GO) test -count=1 -v -run 'TestGrantable|TestMissingAsIncludes|TestDelegatedIsIncluded' ./pkg/included ./pkg/delegation/issue
	$(GO) test -count=1 -v ./test/model
	$(GO) test -count=1 -timeout 0 -v ./test/history -rounds=$(ROUNDS)
	$(GO) test -count=1 -timeout 0 -v ./test/parity -kinds=. -commands -conformance=.

MUTANTS      ?= 0
SEED         ?= 1
MUTANTS_ARGS ?=

.PHONY: mutants
mutants: upstream ## Make small faults in the code that decides, and fail if the tests miss one that is not listed; MUTANTS=20 tries 20 of each package, chosen by SEED; MUTANTS_ARGS="-o json pkg/crd"
	$(GO) run ./hack/mutants -n $(MUTANTS) -seed $(SEED) $(MUTANTS_ARGS)

# It takes more than an hour if all packages changed. hack/mutants/passed is to be committed.
.PHONY: mutants-all
mutants-all: upstream ## Try all small faults in the packages that changed since they passed, and write the stamp hack/mutants/passed; MUTANTS_ARGS="-within 5m pkg/gate" limits it
	$(GO) run ./hack/mutants -stamp hack/mutants/passed -grace 2s -seed $(SEED) $(MUTANTS_ARGS)

# It compiles all of Kubernetes once more, so it is not part of `make test`.
.PHONY: test-race
test-race: $(BIN)/kube-granular-race $(BIN)/kubectl ## Run the concurrency test against a server with the race detector; RACE_ARGS="-writers=400" passes flags
	KUBE_GRANULAR_SERVER=$(CURDIR)/$< CGO_ENABLED=1 $(GO) test -race -v -count=1 -timeout 60m ./test/integration/concurrency $(RACE_ARGS)

# Debian's package qemu-user-static has the emulator, under which the server is many times slower.
.PHONY: test-arm64
test-arm64: $(BIN)/kube-granular $(BIN)/kubectl $(BIN)/kubectl-with ## Run the scenarios of test/corpus against the server of the arm64 image, which qemu-aarch64-static emulates
	@command -v qemu-aarch64-static >/dev/null || { echo "qemu-aarch64-static is missing; install qemu-user-static" >&2; exit 1; }
	@$(MAKE) image-local IMAGE_ARCHS=arm64
	KUBE_GRANULAR_SERVER=$(CURDIR)/hack/emulated-server $(GO) test -v -count=1 -timeout 60m ./test/integration -run 'TestCorpus$$'

.PHONY: test-upstream
test-upstream: upstream $(BIN)/etcd ## Run upstream's own tests of what the patches change; UPSTREAM_ARGS=units or "integration auth" runs a part
	test/upstream/run $(UPSTREAM_ARGS)

.PHONY: bench
bench: upstream ## Measure both sides of every comparison in one run, BENCH_COUNT times (10); BENCH=REGEXP selects some; benchstat prints ratios with intervals
	@mkdir -p $(BIN)
	@out=$$(mktemp); trap 'rm -f "$$out" "$$out.failed"' EXIT; \
	{ $(GO) test -run '^$$$$' -bench "$${BENCH:-.}" -count $${BENCH_COUNT:-10} -timeout 120m \
		./test/bench ./speed/fieldmanagement ./pkg/gate ./staging/src/kube-granular.dev/granular/schema || touch "$$out.failed"; } | tee "$$out"; \
	test ! -e "$$out.failed" && \
	GOWORK=off $(GO) run golang.org/x/perf/cmd/benchstat@$(BENCHSTAT) "$$out"

# Whole requests are measured apart: they take an hour, and a second build of Kubernetes.
# What needs perf(1), shares, is measured where it is named.
BENCH_REQUESTS ?= whole against growth bodies definitions changed
BENCH_ARGS     ?=

.PHONY: bench-requests
bench-requests: $(BIN)/kube-apiserver $(BIN)/kube-apiserver-unpatched $(BIN)/etcd $(BIN)/requests ## Measure whole requests, unpatched and patched; BENCH_REQUESTS="whole against growth bodies definitions changed", BENCH_ARGS="--runs 2 -o json …"
	@for c in $(BENCH_REQUESTS); do echo "==> $$c" >&2; $(BIN)/requests $$c $(BENCH_ARGS) || exit 1; done

.PHONY: verify
verify: build ## Verify the patch series, and that generated files are up to date
	$(call step,verify the patch series,GO=$(GO) hack/upstream/run verify)
	@for v in $(wildcard hack/verify-*.sh); do echo "==> $$v" >&2; $$v || exit 1; done

.PHONY: lint
lint: upstream ## Check the format, the licence headers and names, and run go vet
	@wrong=$$(gofmt -l $(SOURCES)) && test -z "$$wrong" || { echo "not as gofmt has it (make fmt):" $$wrong >&2; exit 1; }
	@bare=$$(find $(SOURCES) -name '*.go' -exec grep -L 'SPDX-License-Identifier: Apache-2.0' {} +); \
	test -z "$$bare" || { echo "without a licence header:" $$bare >&2; exit 1; }
	@$(GO) run ./hack/names api cmd pkg staging tenancy hack test examples $(wildcard speed)
	$(call step,go vet,$(GO) vet $(PACKAGES) && $(TENANCY) vet ./... && GOWORK=off $(GO) -C tenancy/bigquery vet ./... && $(COPIER) vet ./... && $(IMAGE) vet ./... && GOWORK=off $(GO) -C hack/attest vet ./... && GOWORK=off $(GO) -C test/gitops vet ./... && GOWORK=off $(GO) -C test/ui vet ./...)

.PHONY: fmt
fmt: ## Format the Go code
	gofmt -w $(SOURCES)

# go build itself knows best what is up to date; it takes seconds to find out.
.PHONY: $(BIN)/kube-apiserver $(BIN)/kube-apiserver-patient $(BIN)/kube-apiserver-unpatched $(BIN)/requests $(BIN)/kube-granular $(BIN)/kube-granular-race $(BIN)/kubectl $(BIN)/kubectl-with $(BIN)/kubectl-granular $(BIN)/etcd $(BIN)/example-webhook $(BIN)/e2e.test $(BIN)/ginkgo
$(BIN)/kube-apiserver: upstream
	$(call build,$@,./upstream/kubernetes/cmd/kube-apiserver)
$(BIN)/kube-granular: upstream
	$(call build,$@,./cmd/kube-granular)
$(BIN)/kube-granular-race: upstream
	$(call step,build $@,CGO_ENABLED=1 $(GO) build -race -ldflags '$(LDFLAGS)' -o $@ ./cmd/kube-granular)
$(BIN)/kubectl: upstream
	$(call build,$@,./upstream/kubernetes/cmd/kubectl)
$(BIN)/kubectl-with: upstream
	$(call build,$@,./cmd/kubectl-with)
# Clients alone: no symbols, which are a third of it.
$(BIN)/kubectl-granular: upstream
	$(call step,build $@,$(GO) build -ldflags '-s -w $(LDFLAGS)' -o $@ ./cmd/kubectl-granular)
	@cp cmd/kubectl-granular/kubectl_complete-granular $(BIN)/
# Answers writes that take longer than the 34 s which upstream gives them: bin/requests bodies
# --patched bin/kube-apiserver-patient measures the largest bodies on a slow machine.
$(BIN)/kube-apiserver-patient: upstream
	@dir=upstream/kubernetes/staging/src/k8s.io/apiserver/pkg/endpoints/handlers; mkdir -p $(BIN); \
	sed 's|requestTimeoutUpperBound = 34 \* time.Second|requestTimeoutUpperBound = time.Hour|' $$dir/rest.go > $(BIN)/patient-rest.go && \
	! cmp -s $$dir/rest.go $(BIN)/patient-rest.go && \
	printf '{"Replace": {"%s": "%s"}}\n' "$(CURDIR)/$$dir/rest.go" "$(CURDIR)/$(BIN)/patient-rest.go" > $(BIN)/patient.json
	$(call step,build $@,$(GO) build -overlay $(BIN)/patient.json -ldflags '$(LDFLAGS)' -o $@ ./upstream/kubernetes/cmd/kube-apiserver)
$(BIN)/etcd: upstream
	$(call build,$@,go.etcd.io/etcd/server/v3)
$(BIN)/example-webhook: upstream
	$(call build,$@,./cmd/example-webhook)
$(BIN)/requests: upstream
	$(call build,$@,./test/bench/requests)
# Upstream's conformance suite, and what runs several of its tests at a time.
$(BIN)/e2e.test: upstream
	$(call step,build $@,$(GO) test -c -ldflags '-s -w' -o $@ ./upstream/kubernetes/test/e2e)
$(BIN)/ginkgo: upstream
	$(call step,build $@,$(GO) build -ldflags '-s -w' -o $@ github.com/onsi/ginkgo/v2/ginkgo)
# Straight from the module that go.mod pins and hack/upstream copies. What it needs and we
# don't is verified by its own go.sum.
$(BIN)/kube-apiserver-unpatched: upstream
	@mkdir -p $(BIN) && cp go.mod $(BIN)/unpatched.mod && \
	sort -u go.sum "$$(GOWORK=off $(GO) list -m -f '{{.Dir}}' k8s.io/kubernetes)/go.sum" > $(BIN)/unpatched.sum
	$(call step,build $@,GOWORK=off $(GO) build -mod=mod -modfile=$(BIN)/unpatched.mod \
		-ldflags '$(subst $(GIT_VERSION),$(KUBE_VERSION),$(LDFLAGS))' -o $@ k8s.io/kubernetes/cmd/kube-apiserver)
