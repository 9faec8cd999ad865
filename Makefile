# SPDX-License-Identifier: Apache-2.0
# Shortcuts; the scripts do the work. kmod/ has a Makefile of its own.

.PHONY: all setup modules test lint ci demo shell clean

all: modules

setup:
	scripts/setup --tests

modules: setup
	scripts/build-native
	scripts/build-modules

test:
	scripts/test

lint: setup
	scripts/lint

ci:
	.ci/run

demo:
	scripts/demo

shell: setup
	scripts/vm shell

clean:
	rm -rf build vgpu/_native.c vgpu/_native*.so
