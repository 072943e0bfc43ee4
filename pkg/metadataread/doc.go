// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package metadataread lets callers read the metadata of objects without their data. A caller that
// is not allowed to get, list or watch a resource, but holds the verb "readmetadata" on it, reads
// names, labels, owner references, finalizers and a few smaller fields of the metadata. The client
// has to ask for metadata: its Accept header names PartialObjectMetadata, PartialObjectMetadataList
// or Table, as those of client-go's metadata client and of kubectl get do.
//
// An Authorizer decides about a request. Its answer contains a Reduction, with which the handlers of
// the server reduce each object, each event of a watch and each error before anything is encoded.
//
// The invariant: only what reducedMetadata copies leaves the server. Annotations and managed fields
// are not copied, because they repeat the data or the names of its fields. A table is made of
// reduced objects, so its only columns are the name and the time of creation.
//
// The package does not decide what a caller with get, list or watch sees, does not change objects,
// and allows no write. It knows nothing of permissions on fields.
package metadataread
