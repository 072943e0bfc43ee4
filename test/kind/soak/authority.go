// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"net/http"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"kube-granular.dev/test/kind/guarded"
)

// guard makes the objects that each gate protects. It returns an error if the server with the gates off refuses one of
// the requests to them: then a refusal would not show that a gate is on.
func (r *run) guard(ctx context.Context) error {
	var err error
	if r.guarded, err = guarded.New(r.config, namespace); err != nil {
		return err
	}
	if err := r.await(ctx, time.Minute, "the guarded objects are made", r.guarded.Apply); err != nil {
		return err
	}
	for _, request := range guarded.Requests {
		err := r.await(ctx, time.Minute, "the server with the gates off allows "+request.Name, func(ctx context.Context) error {
			return answer(http.StatusOK, request.Send(ctx, r.other.RESTClient(), namespace, 0, true))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// await calls do until it returns no error, for so long. It returns an error with the text what.
func (r *run) await(ctx context.Context, long time.Duration, what string, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, long)
	defer cancel()
	for {
		err := do(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("not within %v: %s: %w", long, what, err)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// answer returns an error unless the status is the wanted one.
func answer(want, got int) error {
	if got != want {
		return fmt.Errorf("status %d, want %d", got, want)
	}
	return nil
}

// attack sends all requests to guarded objects until ctx ends. Each is stored if it is allowed.
func (r *run) attack(ctx context.Context) {
	for step := 0; ; step++ {
		for _, request := range guarded.Requests {
			select {
			case <-ctx.Done():
				return
			case <-time.After(r.pause / 4):
			}
			switch got := request.Send(ctx, r.admin.RESTClient(), namespace, step, false); {
			case ctx.Err() != nil:
				return
			case got == http.StatusConflict:
				r.retried.Add(1)
			case got != request.Want:
				r.fault("%s of %s: %v", request.Name, request.User, answer(request.Want, got))
			case got == http.StatusForbidden:
				r.refused.Add(1)
			default:
				r.allowed.Add(1)
			}
		}
	}
}

// churnDelegations delegates reads, uses the delegation for a read and for a write, ends it, and waits until the server
// refuses the read.
func (r *run) churnDelegations(ctx context.Context) {
	delegations := r.dynamic.Resource(schema.GroupVersionResource{
		Group: "authority.kube-granular.dev", Version: "v1alpha1", Resource: "authoritydelegations"})
	r.repeat(ctx, 5*time.Second, "churn of delegations", func(i int) error {
		name := fmt.Sprintf("soak-%d", i)
		delegation := &unstructured.Unstructured{Object: r.guarded.Delegation(name, "")}
		if _, err := delegations.Create(ctx, delegation, metav1.CreateOptions{}); err != nil {
			return err
		}
		selection := `{"authorityReference":{"kind":"AuthorityDelegation","name":"` + name + `"}}`
		send := func(body string, want int) error {
			request := guarded.Request{User: "rob", Path: guarded.Settings, Body: body, Selection: selection}
			return answer(want, request.Send(ctx, r.admin.RESTClient(), namespace, i, false))
		}
		if err := send("", http.StatusOK); err != nil {
			return fmt.Errorf("a read under %s: %w", name, err)
		}
		if err := send(`{"data":{"step":"STEP"}}`, http.StatusForbidden); err != nil {
			return fmt.Errorf("a write under %s: %w", name, err)
		}
		if err := delegations.Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
			return err
		}
		return r.await(ctx, 10*time.Second, "the read is refused after "+name+" was deleted", func(context.Context) error {
			return send("", http.StatusForbidden)
		})
	})
}

// churnTenants makes tenants, writes as one of their people and as somebody else, and deletes the tenants. A controller of
// tenants must run in the cluster.
func (r *run) churnTenants(ctx context.Context) {
	tenants := r.dynamic.Resource(schema.GroupVersionResource{
		Group: "tenancy.kube-granular.dev", Version: "v1alpha1", Resource: "lnamespaces"})
	r.repeat(ctx, 10*time.Second, "churn of tenants", func(i int) error {
		name := fmt.Sprintf("soak-tenant-%d", i)
		tenant := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "tenancy.kube-granular.dev/v1alpha1", "kind": "LNamespace", "metadata": map[string]any{"name": name},
			"spec": map[string]any{"users": []any{map[string]any{"name": "tenant"}}},
		}}
		if _, err := tenants.Create(ctx, tenant, metav1.CreateOptions{}); err != nil {
			return err
		}
		create := func(ctx context.Context, user string, want int) error {
			return answer(want, createAs(ctx, r.admin.RESTClient(), name, user))
		}
		err := r.await(ctx, time.Minute, "a person of "+name+" may write", func(ctx context.Context) error {
			return create(ctx, "tenant", http.StatusCreated)
		})
		if err != nil {
			return err
		}
		if err := create(ctx, "stranger", http.StatusForbidden); err != nil {
			return fmt.Errorf("a stranger writes in %s: %w", name, err)
		}
		return tenants.Delete(ctx, name, metav1.DeleteOptions{})
	})
}

// createAs creates a ConfigMap in a namespace as a user, and returns the status of the answer.
func createAs(ctx context.Context, client rest.Interface, namespace, user string) int {
	code := 0
	client.Post().AbsPath("/api/v1/namespaces/"+namespace+"/configmaps").SetHeader("Impersonate-User", user).
		SetHeader("Content-Type", "application/json").
		Body([]byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"generateName":"soak-"}}`)).Do(ctx).StatusCode(&code)
	return code
}
