// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/kubernetes/pkg/controller/cronjob"
	"k8s.io/kubernetes/pkg/controller/daemon"
	"k8s.io/kubernetes/pkg/controller/deployment"
	"k8s.io/kubernetes/pkg/controller/endpointslice"
	"k8s.io/kubernetes/pkg/controller/job"
	"k8s.io/kubernetes/pkg/controller/replicaset"
	"k8s.io/kubernetes/pkg/controller/replication"
	"k8s.io/kubernetes/pkg/controller/statefulset"
)

// workers is the number of objects that a controller works on at a time.
const workers = 2

// runner is a controller that was made but does not run yet.
type runner interface {
	Run(ctx context.Context, workers int)
}

// constructors maps the names of the controllers' service accounts to functions that make the
// controllers.
var constructors = map[string]func(ctx context.Context, f informers.SharedInformerFactory, client kubernetes.Interface) (runner, error){
	"deployment-controller": func(ctx context.Context, f informers.SharedInformerFactory, client kubernetes.Interface) (runner, error) {
		return deployment.NewDeploymentController(ctx, f.Apps().V1().Deployments(), f.Apps().V1().ReplicaSets(), f.Core().V1().Pods(), client)
	},
	"replicaset-controller": func(ctx context.Context, f informers.SharedInformerFactory, client kubernetes.Interface) (runner, error) {
		return replicaset.NewReplicaSetController(ctx, f.Apps().V1().ReplicaSets(), f.Core().V1().Pods(), client, replicaset.BurstReplicas), nil
	},
	"replication-controller": func(ctx context.Context, f informers.SharedInformerFactory, client kubernetes.Interface) (runner, error) {
		return replication.NewReplicationManager(ctx, f.Core().V1().Pods(), f.Core().V1().ReplicationControllers(), client, replication.BurstReplicas), nil
	},
	"statefulset-controller": func(ctx context.Context, f informers.SharedInformerFactory, client kubernetes.Interface) (runner, error) {
		return statefulset.NewStatefulSetController(ctx, f.Core().V1().Pods(), f.Apps().V1().StatefulSets(), f.Core().V1().PersistentVolumeClaims(), f.Apps().V1().ControllerRevisions(), client), nil
	},
	"daemon-set-controller": func(ctx context.Context, f informers.SharedInformerFactory, client kubernetes.Interface) (runner, error) {
		return daemon.NewDaemonSetsController(ctx, f.Apps().V1().DaemonSets(), f.Apps().V1().ControllerRevisions(), f.Core().V1().Pods(), f.Core().V1().Nodes(), client, flowcontrol.NewBackOff(time.Second, time.Minute))
	},
	"job-controller": func(ctx context.Context, f informers.SharedInformerFactory, client kubernetes.Interface) (runner, error) {
		return job.NewController(ctx, client, f.Core().V1().Pods(), f.Batch().V1().Jobs(), nil, nil)
	},
	"cronjob-controller": func(ctx context.Context, f informers.SharedInformerFactory, client kubernetes.Interface) (runner, error) {
		return cronjob.NewControllerV2(ctx, f.Batch().V1().Jobs(), f.Batch().V1().CronJobs(), client)
	},
	"endpointslice-controller": func(ctx context.Context, f informers.SharedInformerFactory, client kubernetes.Interface) (runner, error) {
		return endpointslice.NewController(ctx, f.Core().V1().Pods(), f.Core().V1().Services(), f.Core().V1().Nodes(), f.Discovery().V1().EndpointSlices(), 100, client, 0), nil
	},
}

// Names returns the names of all controllers of this package, sorted. They are names of service
// accounts.
func Names() []string {
	var names []string
	for name := range constructors {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Account returns the user name of a controller's service account.
func Account(name string) string { return "system:serviceaccount:kube-system:" + name }

// As returns a client configuration that impersonates the service account of a controller. The
// user of config must be allowed to impersonate it.
func As(config *rest.Config, name string) *rest.Config {
	copied := rest.CopyConfig(config)
	copied.Impersonate = rest.ImpersonationConfig{
		UserName: Account(name),
		Groups:   []string{"system:serviceaccounts", "system:serviceaccounts:kube-system", "system:authenticated"},
	}
	return copied
}

// Run starts the controllers with the given names, or all of them without names. They run until
// ctx ends. config is the configuration of an administrator, whose rights they use for reading.
func Run(ctx context.Context, config *rest.Config, names ...string) error {
	return RunAs(ctx, config, func(name string) *rest.Config { return As(config, name) }, names...)
}

// RunAs is like Run, but each controller writes with the configuration that writing returns for
// its name.
func RunAs(ctx context.Context, config *rest.Config, writing func(name string) *rest.Config, names ...string) error {
	if len(names) == 0 {
		names = Names()
	}
	reading, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	factory := informers.NewSharedInformerFactory(reading, 0)
	var loops []runner
	for _, name := range names {
		make, ok := constructors[name]
		if !ok {
			return fmt.Errorf("there is no controller %q", name)
		}
		client, err := kubernetes.NewForConfig(writing(name))
		if err != nil {
			return err
		}
		l, err := make(ctx, factory, client)
		if err != nil {
			return fmt.Errorf("make the %s: %w", name, err)
		}
		loops = append(loops, l)
	}
	factory.Start(ctx.Done())
	for informer, synced := range factory.WaitForCacheSync(ctx.Done()) {
		if !synced {
			return fmt.Errorf("%s were not read", informer)
		}
	}
	for _, l := range loops {
		go l.Run(ctx, workers)
	}
	return nil
}
