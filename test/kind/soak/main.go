// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"kube-granular.dev/test/kind/guarded"
)

// namespace is the namespace of all objects, except those in the namespaces of churnNamespaces,
// and objects that have no namespace.
const namespace = "soak"

type options struct {
	kubeconfig, server, control, out string
	duration, every, pause           time.Duration
	operators                        int
	tenants                          bool
}

// run is the state that all parts of a soak share.
type run struct {
	options
	admin    *kubernetes.Clientset // for the server with the gate on
	other    *kubernetes.Clientset // for the server with the gate off
	dynamic  dynamic.Interface
	valve    dynamic.Interface // for the operator that writes custom resources
	config   *rest.Config
	guarded  *guarded.Objects
	allowed  atomic.Int64
	refused  atomic.Int64
	churned  atomic.Int64
	retried  atomic.Int64
	mu       sync.Mutex
	wrong    []string
	on, off  []time.Duration
	lasted   time.Duration // It is shorter than the duration if the run was interrupted.
	samples  []sample
	controls []sample
}

func main() {
	var o options
	flag.StringVar(&o.kubeconfig, "kubeconfig", os.Getenv("KUBECONFIG"), "the kubeconfig of an administrator")
	flag.StringVar(&o.server, "server", "", "the URL of the server with the gate on, instead of the kubeconfig's")
	flag.StringVar(&o.control, "control", "", "the URL of the server with the gate off, on the same etcd")
	flag.StringVar(&o.out, "out", "soak", "the folder for samples.csv, soak.svg and summary.txt")
	flag.DurationVar(&o.duration, "duration", time.Hour, "how long the soak runs")
	flag.DurationVar(&o.every, "every", 15*time.Second, "the time between two samples")
	flag.DurationVar(&o.pause, "pause", time.Second, "the time between two writes of an operator")
	flag.IntVar(&o.operators, "operators", 20, "how many operators write")
	flag.BoolVar(&o.tenants, "tenants", false, "make tenants, too, which needs a controller of tenants in the cluster")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := soak(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(1)
	}
}

func soak(ctx context.Context, o options) error {
	r := &run{options: o}
	if err := r.connect(); err != nil {
		return err
	}
	if err := os.MkdirAll(o.out, 0o755); err != nil {
		return err
	}
	operators, err := r.prepare(ctx)
	if err != nil {
		return fmt.Errorf("prepare: %w", err)
	}
	if err := r.guard(ctx); err != nil {
		return fmt.Errorf("guard: %w", err)
	}
	until, cancel := context.WithTimeout(ctx, o.duration)
	defer cancel()
	var all sync.WaitGroup
	parts := append(operators, r.attack, r.churnDefinitions, r.churnRoles, r.churnNamespaces, r.churnDelegations, r.compare, r.sample)
	if r.tenants {
		parts = append(parts, r.churnTenants)
	}
	for _, part := range parts {
		all.Go(func() { part(until) })
	}
	started := time.Now()
	all.Wait()
	r.lasted = time.Since(started).Round(time.Second)
	return r.report()
}

func (r *run) connect() error {
	config, err := clientcmd.BuildConfigFromFlags("", r.kubeconfig)
	if err != nil {
		return err
	}
	if r.server != "" {
		config.Host = r.server
	}
	config.QPS, config.WarningHandler = -1, rest.NoWarnings{}
	r.config = config
	if r.admin, err = kubernetes.NewForConfig(config); err != nil {
		return err
	}
	if r.dynamic, err = dynamic.NewForConfig(config); err != nil {
		return err
	}
	control := rest.CopyConfig(config)
	control.Host = r.control
	r.other, err = kubernetes.NewForConfig(control)
	return err
}

// fault prints the description of an unexpected result, and stores it. After a hundred of them, it ignores more.
func (r *run) fault(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.wrong) < 100 {
		r.wrong = append(r.wrong, fmt.Sprintf(format, args...))
		fmt.Fprintln(os.Stderr, "wrong:", r.wrong[len(r.wrong)-1])
	}
}

// report writes the result files. It returns an error if there was at least one unexpected result,
// or if the number of answers with a status of 500 and above grew.
func (r *run) report() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := len(r.samples); n > 0 {
		for i, m := range measured {
			if m.label != "" && r.samples[n-1].values[i] > r.samples[0].values[i] {
				r.wrong = append(r.wrong, fmt.Sprintf("%s grew from %.0f to %.0f", m.title, r.samples[0].values[i], r.samples[n-1].values[i]))
			}
		}
	}
	text := r.summary()
	fmt.Print(text)
	for name, write := range map[string]func(string) error{
		"samples.csv": r.writeCSV,
		"soak.svg":    r.writePlot,
		"summary.txt": func(path string) error { return os.WriteFile(path, []byte(text), 0o644) },
	} {
		if err := write(filepath.Join(r.out, name)); err != nil {
			return err
		}
	}
	if len(r.wrong) > 0 {
		return fmt.Errorf("%d unexpected results, the first: %s", len(r.wrong), r.wrong[0])
	}
	return nil
}
