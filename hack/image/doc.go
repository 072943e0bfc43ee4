// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// The command image packs static binaries into container images, and for tests it serves
// images in place of registries. It needs no daemon, no root and no registry.
//
//	list of images (JSON) ──► one layer for each platform ──┬──► archive for `docker load` and `ctr images import`
//	                                                        └──► OCI image layout of all platforms, in a tar
//	a binary              ──► the modules it is built from ─────► SBOM, as SPDX 2.3
//	archives              ──► a proxy that answers for every registry, for tests
//
// The invariant: builds are reproducible. An archive does not depend on time, user or the order
// of a directory.
//
// The command compiles nothing and uploads nothing. It is a separate module, so that the server
// does not depend on the libraries for images and SBOMs.
package main
