// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	kubefake "k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	clienttesting "k8s.io/client-go/testing"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/api/client/clientset/versioned/fake"
	"kube-granular.dev/pkg/rounds"
)

// held is the Lease while another server holds it.
func held() *coordinationv1.Lease {
	other, seconds, now := "other", int32(3600), metav1.NowMicro()
	return &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: LeaseName},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: &other, LeaseDurationSeconds: &seconds, AcquireTime: &now, RenewTime: &now},
	}
}

// TestRun holds when a server writes statuses: the one that leads at once after a change, and again
// until it succeeds; each one what it counted after rounds.CountInterval; and none more often than each
// rounds.MinInterval, nor after its end.
func TestRun(t *testing.T) {
	for name, leads := range map[string]bool{"leads": true, "does not lead": false} {
		synctest.Test(t, func(t *testing.T) {
			one := referring()
			p, client, leases := knowing(t, one), fake.NewSimpleClientset(objects(one)...), kubefake.NewClientset()
			if !leads {
				leases = kubefake.NewClientset(held())
			}
			fails := 0
			client.PrependReactor("update", "protectedattributes", func(clienttesting.Action) (bool, runtime.Object, error) {
				if fails > 0 {
					fails--
					// It is reported nowhere: what reports errors looks at the real time too.
					return true, nil, apierrors.NewConflict(v1alpha1.Resource("protectedattributes"), "a", errors.New("changed"))
				}
				return false, nil, nil
			})
			ctx, stop := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() { done <- New(p, client).Run(ctx, leases) }()
			// after returns how many statuses were written during a time.
			after := func(d time.Duration) int {
				client.ClearActions()
				time.Sleep(d)
				synctest.Wait()
				return writes(client)
			}
			byLeader := map[bool]int{true: 1, false: 0}[leads]
			if n := after(2*rounds.MinInterval + time.Millisecond); n != byLeader {
				t.Errorf("%s: %d writes after the start", name, n)
			}
			if n := after(2 * rounds.CountInterval); n != 0 {
				t.Errorf("%s: %d writes without a change", name, n)
			}
			p.CountViolations("n", "a")
			if n := after(rounds.CountInterval + rounds.MinInterval); n != 1 || p.Violations("n", "a") != 0 {
				t.Errorf("%s: %d writes of what was counted", name, n)
			}
			for range 3 { // changes that follow each other are one
				p.Observe(stored(one, 100+time.Now().Second()), false)
			}
			if n := after(time.Millisecond); n > byLeader {
				t.Errorf("%s: %d writes at once", name, n)
			}
			after(rounds.CountInterval)
			fails = 3
			p.CountViolations("n", "a")
			p.Observe(stored(one, 1000), false)
			if n := after(5*rounds.MinInterval + time.Millisecond); n != 4 || p.Violations("n", "a") != 0 {
				t.Errorf("%s: %d writes, of which 3 fail", name, n)
			}
			stop()
			if err := <-done; err != nil {
				t.Errorf("%s: ended with %v", name, err)
			}
			p.CountViolations("n", "a")
			if n := after(2 * rounds.CountInterval); n != 0 {
				t.Errorf("%s: %d writes after the end", name, n)
			}
			lease, err := leases.CoordinationV1().Leases(metav1.NamespaceSystem).Get(context.Background(), LeaseName, metav1.GetOptions{})
			if err != nil || *lease.Spec.HolderIdentity != map[bool]string{true: "", false: "other"}[leads] {
				t.Errorf("%s: the lease is left as %+v, %v", name, lease, err)
			}
		})
	}
}

// TestStart holds that a server that can't be a client of itself does not start, and another does.
func TestStart(t *testing.T) {
	p := knowing(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	if err := Start(ctx, p, &rest.Config{TLSClientConfig: rest.TLSClientConfig{CAFile: "nowhere"}}); err == nil {
		t.Error("started without the certificate of its own authority")
	}
	self := &rest.Config{Host: "https://127.0.0.1:1", ContentConfig: rest.ContentConfig{ContentType: runtime.ContentTypeProtobuf}}
	if err := Start(ctx, p, self); err != nil || self.ContentType != runtime.ContentTypeProtobuf {
		t.Errorf("%v, and the configuration of the server is %s", err, self.ContentType)
	}
}

// answers is a transport that answers each request with 404, and keeps the last one that writes.
type answers struct{ written atomic.Pointer[http.Request] }

func (a *answers) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Method == http.MethodPut {
		a.written.Store(req)
	}
	return &http.Response{StatusCode: http.StatusNotFound, Body: http.NoBody, Request: req}, nil
}

// TestStartWrites checks that the controller that Start starts writes statuses until its context ends, which is no error, and
// as JSON, also where the server is a client of itself with protobuf.
func TestStartWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stopped := reports(t, "The status controller of protected attributes stopped")
		p, a := knowing(t, referring()), &answers{}
		ctx, stop := context.WithCancel(t.Context())
		p.CountViolations("n", "a")
		self := &rest.Config{Host: "http://self", Transport: a, ContentConfig: rest.ContentConfig{ContentType: runtime.ContentTypeProtobuf}}
		if err := Start(ctx, p, self); err != nil {
			t.Fatal(err)
		}
		time.Sleep(rounds.CountInterval + time.Millisecond)
		synctest.Wait()
		req := a.written.Load()
		if req == nil || req.URL.Path != "/apis/authority.kube-granular.dev/v1alpha1/namespaces/n/protectedattributes/a/status" ||
			req.Header.Get("Content-Type") != runtime.ContentTypeJSON || strings.Contains(req.Header.Get("Accept"), "protobuf") {
			t.Errorf("%+v", req)
		}
		stop()
		synctest.Wait()
		if stopped.Load() != 0 {
			t.Error("the end of the server is reported as an error")
		}
	})
}

// reports returns how often an error is reported with a message, until the test ends.
func reports(t *testing.T, message string) *atomic.Int64 {
	t.Helper()
	n, before := &atomic.Int64{}, utilruntime.ErrorHandlers
	t.Cleanup(func() { utilruntime.ErrorHandlers = before })
	utilruntime.ErrorHandlers = []utilruntime.ErrorHandler{func(_ context.Context, _ error, msg string, _ ...any) {
		if msg == message {
			n.Add(1)
		}
	}}
	return n
}
