// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package controlplane runs upstream's controller manager and scheduler in the process of a test.
//
// They do not elect a leader, because upstream's code exits the process when it stops to lead.
package controlplane

import (
	"context"
	"testing"

	"github.com/spf13/pflag"
	"k8s.io/klog/v2"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app/testing"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	scheduleroptions "k8s.io/kubernetes/cmd/kube-scheduler/app/options"
)

// StartManager runs the controller manager until the test ends. kubeconfig is a path. Flags are those of the program.
func StartManager(t *testing.T, kubeconfig string, flags ...string) {
	t.Helper()
	klog.SetLogger(klog.Logger{}) // it would log thousands of lines
	manager := controllermanager.StartTestServerOrDie(t, t.Context(), append([]string{
		"--kubeconfig=" + kubeconfig, "--leader-elect=false", "--secure-port=0",
	}, flags...))
	t.Cleanup(manager.TearDownFn)
}

// StartScheduler runs the scheduler until the test ends. kubeconfig is a path.
func StartScheduler(t *testing.T, kubeconfig string) {
	t.Helper()
	options := scheduleroptions.NewOptions()
	flags := pflag.NewFlagSet("scheduler", pflag.ContinueOnError)
	for _, set := range options.Flags.FlagSets {
		flags.AddFlagSet(set)
	}
	if err := flags.Parse([]string{"--kubeconfig=" + kubeconfig, "--leader-elect=false", "--secure-port=0"}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	config, instance, err := scheduler.Setup(ctx, options)
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- scheduler.Run(ctx, config, instance) }()
	t.Cleanup(func() {
		cancel()
		<-ended // it always returns an error
	})
}
