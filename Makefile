# Isochrone. `make help` lists the targets.

SHELL       := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

VERSION     := $(shell cat VERSION)
GOSEC       := github.com/securego/gosec/v2/cmd/gosec@v2.30.0
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
LDFLAGS     := -s -w -X main.version=$(VERSION)
# Static, and the same bytes from the same sources: no cgo, no paths, no time of building.
GOBUILD     := CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags '$(LDFLAGS)'
NODE_STAMP  := infra/local/node_modules/.installed
# The dashboard's page: built when its sources are newer than what was built of them. index.html is written last.
WEB_NODE    := functions/web/node_modules/.installed
WEB_STAMP   := functions/web/dist/index.html
WEB_SOURCES := functions/web/build.mjs functions/web/tsconfig.json $(wildcard functions/web/page/*)

.PHONY: help
help: ## list the targets
	@awk -F':.*## ' '/^[a-z-]+:.*## / {printf "  %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: run
run: $(NODE_STAMP) build package ## the whole stack on this machine: one sweep, the matrix, then on its schedule until Ctrl-C (ONCE=1: end after one sweep; HISTORY=8w: with simulated history of so many weeks)
	@bin/local $(if $(ONCE),--once) $(if $(HISTORY),--history $(HISTORY))

.PHONY: experiment
experiment: $(NODE_STAMP) build package ## one of docs/experiments on this machine, from start to table (NAME=paths|saturation|stream|load; WRITE=1: into its README)
	@bin/local experiment $(if $(WRITE),--write) $(NAME)

.PHONY: test
test: $(NODE_STAMP) $(WEB_STAMP) python chromium ## all tests with the race detector, on a real storage emulator
	go test -race -timeout 30m ./...

.PHONY: check
check: ## format, vet, staticcheck, module tidiness
	@unformatted=$$(gofmt -l .); test -z "$$unformatted" || { printf '%s\n' "$$unformatted" 'make check: run make fmt' >&2; exit 1; }
	go vet ./...
	GOOS=windows go build -o /dev/null ./prober ./sweep
	GOOS=darwin go build -o /dev/null ./prober ./sweep
	go run $(STATICCHECK) ./...
	go mod tidy -diff
	go mod verify

# Advisories need the network: where their database cannot be had, that is said and is no failure.
.PHONY: audit
audit: ## licences of all that is built in, against docs/licences.md (WRITE=1: anew); known vulnerabilities; gosec, its exceptions in infra/audit/gosec.txt
	@go run ./infra/audit $(if $(WRITE),-write)
	@log=$$(mktemp); trap 'rm -f "$$log"' EXIT; \
	if timeout 300 go run golang.org/x/vuln/cmd/govulncheck@v1.8.0 ./prober ./sweep ./functions >"$$log" 2>&1; then tail -n 3 "$$log"; \
	elif grep -q '^Vulnerability #' "$$log"; then cat "$$log"; exit 1; \
	else echo 'make audit: the database of vulnerabilities could not be had: NOT CHECKED'; fi
	@log=$$(mktemp); trap 'rm -f "$$log"' EXIT; \
	if npm audit --prefix functions/web --omit=dev >"$$log" 2>&1; then tail -n 1 "$$log"; \
	elif grep -q 'audit endpoint' "$$log"; then echo 'make audit: advisories about npm packages could not be had: NOT CHECKED'; \
	else cat "$$log"; exit 1; fi
	timeout 900 go run $(GOSEC) -quiet -exclude="$$(cut -d' ' -f1 infra/audit/gosec.txt | paste -sd,)" ./prober/... ./sweep/... ./functions/...

# A target ends sooner than its time would let it if it had to find the smallest form of each text first.
FUZZTIME ?= 1m
.PHONY: fuzz
fuzz: ## every fuzz target for FUZZTIME (1m each), one after the other (ONLY=XML: those with that in their name)
	@targets=$$(grep -rEo --include='*_test.go' '^func Fuzz[A-Za-z0-9]*' . | sed -E 's|^(.*)/[^/]*:func (Fuzz.*)|\1 \2|' | grep -E ' Fuzz.*$(ONLY)' | sort || true); \
	test -n "$$targets" || { echo 'make fuzz: there is no such target' >&2; exit 1; }; \
	log=$$(mktemp); trap 'rm -f "$$log"' EXIT; failed=; \
	while read -r package target; do \
	  if go test "$$package" -run '^$$' -fuzz "^$$target\$$" -fuzztime '$(FUZZTIME)' -fuzzminimizetime 100x </dev/null >"$$log" 2>&1; then \
	    printf '%-64s %s\n' "$$package $$target" "$$(grep -o 'execs: [0-9]*' "$$log" | tail -n 1)"; \
	  else \
	    cat "$$log"; failed+=" $$target"; \
	  fi; \
	done <<<"$$targets"; \
	test -z "$$failed" || { echo "make fuzz: failed:$$failed" >&2; exit 1; }

.PHONY: bench
bench: $(NODE_STAMP) peers ## figures beside peers, as BENCH lines (ONLY=udp,tcp: some groups); takes about half an hour
	go run ./infra/local/bench $(if $(ONLY),-only $(ONLY))

.PHONY: scale
scale: $(NODE_STAMP) ## what a sweep of 4 to 60 simulated probers costs the app, stage by stage, and a month of it (SIZES=4,15: some sizes); takes some minutes
	@go run ./infra/local/scale $(if $(SIZES),-sizes $(SIZES))

.PHONY: soak
soak: $(NODE_STAMP) ## a simulated month of sweeps with kills, storage faults and wrong clocks, and its account (MINUTES=8 at the most, SEED=n, DAYS=31)
	@mkdir -p bin
	@go build -o bin/soak ./infra/local/soak
	@bin/soak $(if $(SEED),-seed $(SEED)) $(if $(DAYS),-days $(DAYS)) $(if $(MINUTES),-minutes $(MINUTES))

.PHONY: outage
outage: $(NODE_STAMP) ## rehearse outages of storage of a minute, ten minutes, an hour and a day, and three minutes of throttling (ONLY=1m,throttled: some); takes about seven minutes
	go run ./infra/local/outage $(if $(ONLY),-only $(ONLY))

.PHONY: build
build: ## the programs prober, sweep and local, into bin/
	@mkdir -p bin/spool
	@echo 'building prober, sweep and local into bin/'
	@$(GOBUILD) -o bin/prober ./prober
	@$(GOBUILD) -o bin/sweep ./sweep
	@$(GOBUILD) -o bin/local ./infra/local

.PHONY: package
package: $(WEB_STAMP) ## the Functions app: dist/app/ and dist/app.zip, reproducibly
	@echo 'packaging the Functions app into dist/'
	@go run ./infra/pack -out dist

.PHONY: web
web: $(WEB_STAMP) ## the dashboard's page, into functions/web/dist, from where it is built into the app

$(WEB_NODE): functions/web/package.json functions/web/package-lock.json
	npm ci --prefix functions/web --ignore-scripts --no-fund --no-audit --loglevel=error
	@touch $@

$(WEB_STAMP): $(WEB_NODE) $(WEB_SOURCES)
	@echo 'building the dashboard into functions/web/dist/'
	@cd functions/web && npm run --silent build

.PHONY: fmt
fmt: ## format the Go sources
	gofmt -w .

.PHONY: deps
deps: $(NODE_STAMP) $(WEB_NODE) python chromium ## what the stack and the tests need beside Go: npm packages (pinned), Chromium, Debian's Azure SDK, Jupyter and scipy for Python
	go mod download

$(NODE_STAMP): infra/local/package.json infra/local/package-lock.json
	npm ci --prefix infra/local --ignore-scripts --no-fund --no-audit --loglevel=error
	@touch $@

# The tests run the README's Python lines and the notebooks with Debian's Python, Azure SDK and Jupyter (its kernel
# python3 is that of /usr/bin/python3), and hold the statistics against its scipy and statsmodels.
PYTHON_PACKAGES := jupyter-nbconvert python3-ipykernel python3-pandas python3-matplotlib python3-azure-storage python3-statsmodels python3-scipy
.PHONY: python
python:
	@{ /usr/bin/python3 -c 'import azure.data.tables, azure.identity, azure.storage.blob, ipykernel, matplotlib, nbconvert, pandas, scipy.stats, statsmodels.tsa.seasonal' && \
	  grep -q '"/usr/bin/python3"' /usr/share/jupyter/kernels/python3/kernel.json; } 2>/dev/null || { \
	  echo 'installing $(PYTHON_PACKAGES)'; \
	  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $(PYTHON_PACKAGES); }

# The tests of the dashboard look at it with Debian's Chromium.
.PHONY: chromium
chromium:
	@command -v chromium >/dev/null || { \
	  echo 'installing chromium'; \
	  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core; }

# The tools that make bench measures beside.
.PHONY: peers
peers:
	@{ command -v sockperf && command -v irtt; } >/dev/null || { \
	  echo 'installing sockperf and irtt'; \
	  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends sockperf irtt; }

.PHONY: clean
clean: ## remove what was built
	rm -rf bin dist .local
	find functions/web/dist -mindepth 1 ! -name .gitignore -delete
