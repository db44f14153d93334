# The commands of the README, and what they stand on.

.PHONY: demo check locks test install docs api lint ci python python-test python-docs

# Where `make install` puts the command: PREFIX/bin. Its manual and its completions go below PREFIX/share.
PREFIX ?= $(or $(CARGO_HOME),$(HOME)/.cargo)

# Profile that builds the demonstration. CI takes the one of the tests, which is compiled by then.
DEMO_PROFILE ?= release

# Simulates the paper's array under six policies and writes ioda-report.html.
demo:
	cargo run --profile $(DEMO_PROFILE) --locked --bin ioda -- compare tpcc-recorded --html

# Puts `ioda` on the path, built as for the demonstration, with its manual and completions.
install:
	cargo install --path crates/ioda --locked --root "$(PREFIX)" --target-dir target
	scripts/install-extras "$(PREFIX)/bin/ioda" "$(PREFIX)/share"

# The documentation of the libraries in target/doc. The first page says which crate is for whom.
api:
	cargo doc --workspace --no-deps --locked
	echo '<meta http-equiv="refresh" content="0; url=ioda/index.html">' > target/doc/index.html

# The documents as a site in target/book.
docs:
	scripts/install-mdbook
	target/tools/bin/mdbook build docs --dest-dir ../target/book

# The Python package, built and installed into the virtual environment python/.venv, with what its notebooks need.
python:
	scripts/install-python python/.venv notebook
	VIRTUAL_ENV="$(CURDIR)/python/.venv" python/.venv/bin/maturin develop --release --locked --quiet --manifest-path python/Cargo.toml
	@echo "installed; begin with: python/.venv/bin/python"

# The tests of the Python package, in an environment of their own and with a build that is compiled fast.
python-test:
	scripts/install-python python/.venv-test notebook test ray
	VIRTUAL_ENV="$(CURDIR)/python/.venv-test" python/.venv-test/bin/maturin develop --locked --quiet --manifest-path python/Cargo.toml
	cd python && .venv-test/bin/mypy && .venv-test/bin/pytest

# The documentation of the Python package as a site in python/docs/_build, with its guide and notebooks. A reference that leads
# nowhere is an error.
python-docs: python
	scripts/install-python python/.venv notebook docs
	python/.venv/bin/python -m sphinx -W --keep-going -q -b html python/docs python/docs/_build

# After every edit: format, lints, house rules and unit tests. Compiles with the developer's profile,
# which is made for small changes, and not with that of the tests, which is made to run them fast.
check: locks
	cargo fmt --check
	cargo clippy --workspace --all-targets --locked -- -D warnings
	cargo test --profile dev --workspace --lib --bins --locked --quiet
	cargo test --profile dev -p ioda-units --test it --locked --quiet

# Both lock files agree with the manifests. The Python package is a workspace of its own: a dependency added here
# changes its lock too.
locks:
	cargo metadata --locked --format-version 1 > /dev/null
	cargo metadata --locked --format-version 1 --manifest-path python/Cargo.toml > /dev/null

# Every test, with the clients and in the browser too where they can be installed.
test:
	scripts/install-test-tools
	cargo test --workspace --locked

lint:
	cargo fmt --check
	cargo clippy --workspace --all-targets --locked -- -D warnings
	cargo clippy -p ioda-engine -p ioda-sim -p ioda --features ioda/planted --all-targets --locked -- -D warnings
	cargo clippy -p ioda-engine --lib --no-default-features --locked -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked
	scripts/check-purity

ci:
	bash .ci/run
