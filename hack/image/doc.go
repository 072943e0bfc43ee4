// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// The command image packs static binaries into container images. It needs no daemon, no root and
// no registry.
//
//	list of images (JSON) ──► one layer for each platform ──┬──► archive for `docker load` and `ctr images import`
//	                                                        └──► OCI image layout of all platforms, in a tar
//	a binary              ──► the modules it is built from ─────► SBOM, as SPDX 2.3
//
// The invariant: the same files make the same bytes. No time, user or order of a folder gets into
// an archive.
//
// The command builds nothing and uploads nothing. It lives in a module of its own, so that the
// libraries for images and SBOMs are no dependency of the server.
package main
