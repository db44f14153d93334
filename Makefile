# The two commands of the README, and what they stand on.

.PHONY: demo test lint ci

# Simulates the article's array under six policies and writes ioda-report.html.
demo:
	cargo build --release --locked --bin ioda
	./target/release/ioda compare

# Every test, in a browser too where one can be installed.
test:
	scripts/install-test-tools
	cargo test --workspace --locked

lint:
	cargo fmt --check
	cargo clippy --workspace --all-targets --locked -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked
	scripts/check-purity

ci:
	bash .ci/run
