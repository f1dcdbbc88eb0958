# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Every goal installs what it lacks (scripts/setup.sh) and says so.

CARGO ?= cargo
RELEASE := target/release
SHELL := /bin/bash

.PHONY: help build demo picture reproduce-quick reproduce reproduce-sim reproduce-ns2 test test-long test-kernels test-wifi soak bench bench-report mixes fuzz sim lint clean install deb rpm image image-lab test-packages

help: ## show the goals
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:[^#]*## /\t/' | expand -t 16

build: ## release build of all programs, into target/release
	@scripts/setup.sh build
	$(CARGO) build --release --locked

demo: build ## a transfer over a lossy link without and with the agent (DEMO=short: in half a minute)
	@scripts/setup.sh run
	@scripts/demo.sh $(RELEASE) $(DEMO)

picture: build ## README's picture of before and after, docs/before-after.svg, in two to three minutes
	@scripts/setup.sh run
	@scripts/setup.sh picture
	@scripts/picture.py $(RELEASE) docs/before-after.svg

reproduce-quick: build ## one small experiment and its page, in a few minutes
	@scripts/setup.sh run
	@scripts/setup.sh report
	@scripts/reproduce.sh $(RELEASE) results/quick experiments/quick.toml

reproduce: build ## the papers' experiments on the test bed and their page, in about three hours
	@scripts/setup.sh run
	@scripts/setup.sh report
	@scripts/reproduce.sh $(RELEASE) results/all $(filter-out experiments/ns2-% experiments/ns3-%,$(wildcard experiments/*.toml))

# Those of a simulator, and as root that which has the test bed beside it: NAME, in results/NAME.
define simulated
	status=0; \
	scripts/reproduce.sh $(RELEASE) results/$(1) $(filter-out $(2),$(wildcard experiments/$(1)-*.toml)) || status=$$?; \
	if [ "$$(id -u)" = 0 ] && scripts/setup.sh run; then \
		scripts/reproduce.sh $(RELEASE) results/$(1) $(2) || status=$$?; \
	else echo "skipped: $(basename $(notdir $(2))), whose test bed needs root and a kernel of at least 6.6"; fi; \
	exit $$status
endef

reproduce-sim: build sim ## those in ns-3 and their page (root: also against the test bed), in about an hour
	@scripts/setup.sh report
	@$(call simulated,ns3,experiments/ns3-differential.toml)

reproduce-ns2: build ## those in ns-2 and their page, as far as there is a package of it (root: also against the test bed)
	@scripts/setup.sh report
	@if ! scripts/setup.sh ns2; then echo "skipped: no package ns2 here"; exit 0; fi; \
	$(call simulated,ns2,experiments/ns2-parity.toml)

test: ## all tests but the long ones (root: also BPF and namespaces)
	@scripts/setup.sh build
	@LASTHOP_ALLOW_OLD_KERNEL=1 scripts/setup.sh run
	@scripts/test.sh

test-long: ## longer end-to-end transfers, 1,000 and 25,000 flows
	@scripts/setup.sh run
	@scripts/test.sh --long

test-kernels: build ## try the agent on kernels in QEMU (docs/kernels.md)
	@scripts/kernels/run.sh

test-wifi: build ## try the agent between an access point and a station, both simulated, in QEMU
	@scripts/wifi/run.sh

soak: build ## a daemon under churn, loss, outages and reloads; what leaks is a failure (HOURS=6 OUT=results/soak RATE=1000)
	@scripts/setup.sh run
	@$(RELEASE)/lasthop-lab soak --hours $(or $(HOURS),6) --rate $(or $(RATE),1000) --out $(or $(OUT),results/soak)

bench: build ## nanoseconds per packet, forwarding with and without the agent (BENCH=short: one round)
	@scripts/setup.sh bench
	@scripts/bench.sh $(RELEASE) $(BENCH)

bench-report: build ## cost as flows, loss, sizes and rules grow: curves, a model, what a port takes (OUT=results/bench BENCH=short)
	@scripts/setup.sh bench
	@scripts/bench-report.sh $(RELEASE) $(or $(OUT),results/bench) $(BENCH)

mixes: ## the simulator's mixes of flows over many seeds, mean and worst (SEEDS=32 MIXES=one,grid-110 SCHEMES=rack OUT=FILE AGAINST=FILE; DRAWN=1-400: what the agent makes worse of links drawn at random)
	@scripts/setup.sh build
	@$(foreach v,SEEDS MIXES SCHEMES OUT AGAINST DRAWN,$(if $($(v)),$(v)='$(if $(filter OUT AGAINST,$(v)),$(abspath $($(v))),$($(v)))' ))\
	$(CARGO) test --release --locked -q -p lasthop-core --test mixes -- $(if $(DRAWN),drawn::drawn,seeds::seeds) --exact --ignored --nocapture

fuzz: ## libFuzzer over what strangers' bytes reach (TARGET=packet|message|transfer|twin|configuration|control|capture SECONDS=60)
	@scripts/setup.sh fuzz
	@scripts/fuzz.sh run $(or $(TARGET),all) $(or $(SECONDS),60)

sim: ## build the ns-3 module against an installed ns-3 and run its tests
	@scripts/setup.sh sim
	@scripts/sim.sh

lint: ## format, clippy, generated files, imports, the core's other targets
	@scripts/setup.sh lint
	@scripts/lint.sh

install: build ## install lasthop and lasthop-exporter to $(DESTDIR)/usr/local/sbin
	install -D -m 755 $(RELEASE)/lasthop $(DESTDIR)/usr/local/sbin/lasthop
	install -D -m 755 $(RELEASE)/lasthop-exporter $(DESTDIR)/usr/local/sbin/lasthop-exporter
	$(RELEASE)/lasthop defaults >$(RELEASE)/lasthop.example.toml
	install -D -m 644 $(RELEASE)/lasthop.example.toml $(DESTDIR)/etc/lasthop/lasthop.example.toml

deb: ## package for Debian and its kin, into target/package
	@scripts/setup.sh build
	@scripts/setup.sh package
	@scripts/package.sh deb

rpm: ## package for Fedora and its kin, into target/package
	@scripts/setup.sh build
	@scripts/setup.sh package
	@scripts/package.sh rpm

image: ## image for podman, buildah or docker (skipped where none of them runs)
	@scripts/setup.sh build
	@scripts/setup.sh package
	@scripts/package.sh image

image-lab: ## image of the test bed, in a Debian of this machine's release (root)
	@scripts/setup.sh build
	@scripts/setup.sh image-lab
	@scripts/package.sh image-lab

test-packages: deb rpm ## try the packages on Debian 12, 13, Ubuntu 24.04 in QEMU (SYSTEMS=debian12|debian13|ubuntu2404|none)
	@scripts/setup.sh test-packages
	@scripts/packages.sh $(SYSTEMS)

clean: ## remove what was built
	$(CARGO) clean
