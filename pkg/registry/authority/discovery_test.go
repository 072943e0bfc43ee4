// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	genericapiserver "k8s.io/apiserver/pkg/server"
	restclient "k8s.io/client-go/rest"
	clienttesting "k8s.io/client-go/testing"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset/fake"
)

// TestKeepAPIService holds that keepAPIService creates the APIService again whenever it is
// deleted, and otherwise leaves it unchanged.
func TestKeepAPIService(t *testing.T) {
	clientset := fake.NewClientset()
	client := clientset.ApiregistrationV1().APIServices()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := keepAPIService(ctx, clientset); err != nil {
			t.Error(err)
		}
	}()
	there := func() {
		t.Helper()
		if err := wait.PollUntilContextTimeout(ctx, 10*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
			got, err := client.Get(ctx, apiServiceName, metav1.GetOptions{})
			return err == nil && got.Spec.GroupPriorityMinimum == Priority.Group && got.Labels["kube-aggregator.kubernetes.io/automanaged"] == "onstart", nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	there()
	for range 3 {
		if err := client.Delete(ctx, apiServiceName, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		there()
	}
	if list, err := client.List(ctx, metav1.ListOptions{}); err != nil || len(list.Items) != 1 {
		t.Errorf("%d APIServices, error %v", len(list.Items), err)
	}
	stop()
	<-done
}

// TestKeepAPIServiceTriesAgain holds that keepAPIService creates the APIService once if that succeeds, and
// also if another server has created it, and tries again after another error. It reads no other
// APIService.
func TestKeepAPIServiceTriesAgain(t *testing.T) {
	// What reports errors looks at the real time, which is far from the time of the test.
	handlers := utilruntime.ErrorHandlers
	utilruntime.ErrorHandlers = nil
	defer func() { utilruntime.ErrorHandlers = handlers }()
	synctest.Test(t, func(t *testing.T) {
		clientset := fake.NewClientset()
		answers, creates := []error{}, 0
		clientset.PrependReactor("create", "apiservices", func(clienttesting.Action) (bool, runtime.Object, error) {
			creates++
			if len(answers) == 0 {
				return false, nil, nil
			}
			err := answers[0]
			answers = answers[1:]
			return true, nil, err
		})
		clientset.PrependReactor("list", "apiservices", func(action clienttesting.Action) (bool, runtime.Object, error) {
			if got := action.(clienttesting.ListAction).GetListRestrictions().Fields.String(); got != "metadata.name="+apiServiceName {
				t.Errorf("lists %q", got)
			}
			return false, nil, nil
		})
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		run := func(want int, errs ...error) {
			t.Helper()
			answers, creates = errs, 0
			go func() { done <- keepAPIService(ctx, clientset) }()
			time.Sleep(time.Minute)
			synctest.Wait()
			if creates != want {
				t.Errorf("%v: %d attempts, want %d", errs, creates, want)
			}
			stop()
			if err := <-done; err != nil {
				t.Errorf("%v: ended with %v", errs, err)
			}
			ctx, stop = context.WithCancel(t.Context())
		}
		exists := apierrors.NewAlreadyExists(apiregistrationv1.Resource("apiservices"), apiServiceName)
		run(1)
		run(1, exists)
		run(3, errors.New("no storage"), errors.New("no storage"), exists)
		run(60, slices.Repeat([]error{errors.New("no storage")}, 100)...)
		stop()
		if err := keepAPIService(ctx, clientset); err != nil {
			t.Errorf("the server has stopped: %v", err)
		}
	})
}

// TestBootstrapHook holds that the server keeps its APIService, and that it becomes ready ten seconds later if it can't write
// the bootstrap roles: it tries again at a bounded rate, and logs each failure.
func TestBootstrapHook(t *testing.T) {
	// As above, what reports errors looks at the real time.
	handlers, logged := utilruntime.ErrorHandlers, 0
	utilruntime.ErrorHandlers = []utilruntime.ErrorHandler{func(_ context.Context, _ error, text string, _ ...any) {
		if strings.HasPrefix(text, "Bootstrap roles") {
			logged++
		}
	}}
	defer func() { utilruntime.ErrorHandlers = handlers }()
	synctest.Test(t, func(t *testing.T) {
		var asked sync.Map
		config := &restclient.Config{Host: "https://127.0.0.1:1", Transport: transport(func(req *http.Request) (*http.Response, error) {
			asked.Store(req.URL.Path, true)
			return nil, errors.New("no storage")
		})}
		_, hook, err := (&Provider{Attributes: true, BootstrapRoles: true}).PostStartHook()
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		start := time.Now()
		err = hook(genericapiserver.PostStartHookContext{Context: ctx, LoopbackClientConfig: config})
		if waited := time.Since(start); err != nil || waited != rolesPatience {
			t.Errorf("without roles: after %v, %v", waited, err)
		}
		if _, found := asked.Load("/apis/rbac.authorization.k8s.io/v1/clusterroles/" + ViewRole); !found {
			t.Error("no role is written")
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if logged < 50 || logged > 70 {
			t.Errorf("%d failures in an hour are logged", logged)
		}
		if _, found := asked.Load("/apis/apiregistration.k8s.io/v1/apiservices"); !found {
			t.Error("the APIService is not watched")
		}
		stop()
		synctest.Wait()
	})
}

type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }
