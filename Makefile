# Thin names for habits; each line can be typed by hand as well. make is not needed: the
# two commands of README.md use Go alone.

T    ?= 30s
BASE ?= main

.PHONY: test check update generate fuzz race hammer cover bench stat words replay ci

test: ## everything that needs nothing
	go test ./...

check: generate ## formatting, vet, staticcheck, generated files, tidy, then an unchanged tree
	gofmt -l . | tee /dev/stderr | wc -l | grep -qx 0
	go vet ./... && go vet -tags purego ./...
	GOOS=linux GOARCH=arm64 go vet ./... && GOOS=windows go vet ./... && GOOS=darwin go vet ./...
	go run honnef.co/go/tools/cmd/staticcheck@v0.8.2 ./...
	go mod tidy -diff
	git diff --exit-code --stat

update: ## rewrite all goldens, then show which
	go test $$(grep -rlE --include=*_test.go "RunGoldens|passtest|irtest" . | xargs -n1 dirname | sort -u) -update
	git diff --stat

generate: ## make generated files again
	go generate ./...


fuzz: ## every fuzz target for T
	.ci/fuzz $(T)

race:
	go test -race -short ./runtime/... ./passes/... ./codegen/...

hammer: ## the concurrent parts, often
	go test -race -count=20 -run 'Pool|Barrier|Session|Worker|Fault' ./runtime

cover: ## per package
	go test -cover ./...

bench: ## kernels, each beside the machine's limits
	go test -run '^$$' -bench . -benchtime 200ms ./kernels/...

stat: ## sizes of files and functions, comment share, tests per line
	go run ./tests/stat

words: ## how often comments use the words that tests/stat/words.go lists, beside Go's compiler
	go run ./tests/stat -words -beside $$(go env GOROOT)/src/cmd/compile

replay: ## what changed in the demo's dumps and in what is emitted for it, on several backends, since BASE
	.ci/replay $(BASE)

ci: ## what a change has to pass
	.ci/run
