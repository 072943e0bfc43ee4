// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package aggregation runs the controller that fills the aggregated ClusterRoles view, edit and
// admin.
//
// Model: kube-apiserver creates these roles with an aggregation rule and without rules. In a full
// cluster the controller manager fills them in. A local cluster has no controller manager, so
// this package runs upstream's controller.
//
// Invariant: the controller writes the same as in kube-controller-manager, and nothing else. It does not look at all
// roles for the event of a role that no aggregated role selects.
package aggregation

import (
	"context"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/kubernetes/pkg/controller/clusterroleaggregation"
)

// workers is the number of workers, the default of kube-controller-manager for this controller.
const workers = 5

// Start runs the controller with a client configuration until ctx ends. The returned function
// waits until the controller and its watches have ended.
func Start(ctx context.Context, cfg *rest.Config) (wait func(), err error) {
	client, err := kubernetes.NewForConfig(rest.AddUserAgent(cfg, "clusterrole-aggregation-controller"))
	if err != nil {
		return nil, err
	}
	return start(ctx, client)
}

func start(ctx context.Context, client kubernetes.Interface) (wait func(), err error) {
	factory := informers.NewSharedInformerFactory(client, 0)
	roles, err := newFiltered(factory.Rbac().V1().ClusterRoles())
	if err != nil {
		return nil, err
	}
	controller := clusterroleaggregation.NewClusterRoleAggregation(roles, client.RbacV1())
	factory.Start(ctx.Done())
	done := make(chan struct{})
	go func() {
		defer close(done)
		controller.Run(ctx, workers)
	}()
	return func() {
		<-done
		factory.Shutdown()
	}, nil
}
