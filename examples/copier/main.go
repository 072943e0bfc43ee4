// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Command copier is an example of a controller that acts for others: it copies ConfigMaps
// into the namespaces that their annotations name, and does so by the authority of those who
// write the ConfigMaps, not by all that it has.
//
// It is on controller-runtime, and needs three things for that: a transport around its
// configuration, a rule that says whose authority an object stands for, and a context that
// selects it for each write.
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

// newManager returns a manager with the copier in it. What the context of a request selects is
// sent with it, by all clients of the manager; reads of the cache are the controller's own.
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
