// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Command copier is an example of a controller that acts for its users. It copies ConfigMaps into
// the namespaces that their annotations name. For each copy it selects one role, which depends on
// the namespace of the ConfigMap, so that the server ignores all other permissions of the copier.
//
// It uses controller-runtime, and needs three additions to select a role: a transport in its
// client configuration, a function that returns the role for an object, and for each write a Go
// context that contains that role.
package main

import (
	"fmt"
	"os"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"kube-granular.dev/api/selection/transport"
)

func main() {
	ctrl.SetLogger(zap.New())
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run() error {
	config, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	mgr, err := newManager(config)
	if err != nil {
		return err
	}
	return mgr.Start(ctrl.SetupSignalHandler())
}

// newManager returns a manager with the copier. If the Go context of a request contains a selected
// role, each client of the manager sends this selection to the server. Reads of the cache use the
// controller's own permissions.
func newManager(config *rest.Config) (manager.Manager, error) {
	config = rest.CopyConfig(config)
	config.Wrap(transport.New)
	mgr, err := ctrl.NewManager(config, manager.Options{Metrics: server.Options{BindAddress: "0"}})
	if err != nil {
		return nil, err
	}
	c := &copier{client: mgr.GetClient(), events: mgr.GetEventRecorder("copier"), authority: fromNamespace}
	err = ctrl.NewControllerManagedBy(mgr).Named("copier").For(&corev1.ConfigMap{}).Complete(c)
	return mgr, err
}
