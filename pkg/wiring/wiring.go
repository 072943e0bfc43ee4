// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package wiring connects kube-granular with a kube-apiserver it is linked into.
//
// Importing it is all that has to be done, and the patched kube-apiserver does
// just that. The feature gates become known. Where GranularAuthorization is on, the Gate is
// put around the configured authorizer, its metrics are served, and permission extensions of
// custom resource definitions are judged. Where RBACIndex is on as well, RBAC answers from
// the bindings of the caller.
//
// This is the only package of pkg that registers anything anywhere. It holds no logic.
package wiring

import (
	"sync"

	crdgranular "k8s.io/apiextensions-apiserver/pkg/granular"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	upstream "k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/granular"
	utilfeature "k8s.io/apiserver/pkg/util/feature"

	"kube-granular.dev/pkg/crd"
	"kube-granular.dev/pkg/expression"
	"kube-granular.dev/pkg/features"
	"kube-granular.dev/pkg/gate"
	"kube-granular.dev/pkg/metrics"
	"kube-granular.dev/pkg/rbacindex"
)

func init() {
	utilruntime.Must(features.Register(utilfeature.DefaultMutableFeatureGate))
	granular.Install(around)
	granular.InstallBindings(bindingsBySubject)
	crdgranular.Install(crd.New(enabled, expression.Accepted()))
}

func enabled() bool {
	return utilfeature.DefaultFeatureGate.Enabled(features.GranularAuthorization)
}

// A process may start several servers, the registry of metrics is one.
var registerMetrics = sync.OnceFunc(metrics.Register)

func around(configured upstream.Authorizer) upstream.Authorizer {
	if !enabled() {
		return configured
	}
	registerMetrics()
	return gate.New(configured)
}

func bindingsBySubject() granular.Bindings {
	if !enabled() || !utilfeature.DefaultFeatureGate.Enabled(features.RBACIndex) {
		return nil
	}
	return rbacindex.Listers{}
}
