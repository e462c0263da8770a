# Everything sets itself up: npm packages here, the control plane in the tests that need it.
SHELL := /bin/bash
export PATH := $(CURDIR)/node_modules/.bin:$(PATH)
installed := node_modules/.package-lock.json

.PHONY: run test test-skew check bench swarm soak build clean

run: $(installed) ## a cluster of six nodes to play with: make run PORT=8088
	bin/fenceline demo $(if $(PORT),--port $(PORT))

test: $(installed) ## one of everything
	node test/run.ts

check: $(installed) ## types, lint, format, the rules of the house
	node test/run.ts check

bench: $(installed) ## benchmarks, side by side
	node bench/main.ts

swarm: $(installed) ## random clusters and faults: make swarm SEEDS=500 FROM=1 SIZE=large
	node test/swarm/main.ts --seeds $(or $(SEEDS),100) --from $(or $(FROM),1) --size $(or $(SIZE),small)

soak: $(installed) ## what repeats for long: make soak ROUNDS=20
	node test/run.ts --repeat $(or $(ROUNDS),5) control-plane controllers
	node test/run.ts storms
	FENCELINE_EXHAUSTIVE=1 node test/run.ts simulation devices nodes
	for kind in small large aimed calm; do node test/swarm/record.ts --size $$kind --seeds $(or $(SEEDS),500) || exit 1; done
	node test/nodes/soak.ts --rounds $(or $(FAULTS),76)
	node test/nodes/soak.ts --virtual --rounds $(or $(FAULTS),23)
	$(MAKE) test-skew

test-skew: $(installed) ## releases on a second minor of Kubernetes; builds it once, which takes minutes
	FENCELINE_KUBERNETES=1.34 node test/run.ts release

build: $(installed) ## one bundled program in dist/, as it goes into an image
	node build/bundle.ts

clean:
	rm -rf node_modules dist logs

$(installed): package.json package-lock.json
	npm ci --loglevel=error
	@touch $@
