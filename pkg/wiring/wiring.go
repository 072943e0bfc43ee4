// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package wiring connects kube-granular with a kube-apiserver it is linked into.
//
// Importing it is all that has to be done, and the patched kube-apiserver does
// just that: the feature gates become known, and the Gate is put around the
// configured authorizer, and its metrics are served, where its gate is on.
//
// This is the only package that registers anything anywhere. It holds no logic.
package wiring

import (
	"sync"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	upstream "k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/granular"
	utilfeature "k8s.io/apiserver/pkg/util/feature"

	"kube-granular.dev/pkg/authorizer"
	"kube-granular.dev/pkg/features"
	"kube-granular.dev/pkg/metrics"
)

func init() {
	utilruntime.Must(features.Register(utilfeature.DefaultMutableFeatureGate))
	granular.Install(around)
}

// A process may start several servers, the registry of metrics is one.
var registerMetrics = sync.OnceFunc(metrics.Register)

func around(configured upstream.Authorizer) upstream.Authorizer {
	if !utilfeature.DefaultFeatureGate.Enabled(features.GranularAuthorization) {
		return configured
	}
	registerMetrics()
	return authorizer.New(configured)
}
