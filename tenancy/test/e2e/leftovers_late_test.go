// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kube-granular.dev/tenancy/api/v1alpha1"
	"kube-granular.dev/tenancy/internal/names"
)

// TestLateRequestsAreReported checks that a binding is reported if it is created by a request that
// began before its caller was removed from the sudoers.
//
// Attack: with sudo, a caller begins a request, and sends its body after it has left the list
// Answer: what the request creates is in `status.leftovers`: the controller looks again for some minutes
func TestLateRequestsAreReported(t *testing.T) {
	lns := tenant("late")
	lns.Spec.Sudoers = append(lns.Spec.Sudoers, user("late-next"))
	shared.make(t, lns)
	if lns.Status.RevokedAt != nil {
		t.Errorf("nobody was removed, and revokedAt is %v", lns.Status.RevokedAt)
	}
	shared.sudo(t, "late-sudoer", lns.Name)
	config := rest.CopyConfig(shared.admin)
	config.Impersonate = rest.ImpersonationConfig{UserName: "late-sudoer", Groups: []string{names.SudoGroup(lns.Name), "system:authenticated"}}
	h, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	// The server asks for the body when it has authorized the request.
	asked := make(chan struct{})
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{Got100Continue: func() { close(asked) }})
	body, send := io.Pipe()
	url := shared.admin.Host + "/apis/rbac.authorization.k8s.io/v1/namespaces/" + lns.Name + "/rolebindings"
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, body)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Expect", "100-continue")
	answered := make(chan error, 1)
	go func() {
		answer, err := h.Do(request)
		if err == nil {
			text, _ := io.ReadAll(answer.Body)
			if answer.StatusCode != http.StatusCreated {
				err = fmt.Errorf("%s: %s", answer.Status, text)
			}
			_ = answer.Body.Close()
		}
		answered <- err
	}()
	select {
	case <-asked:
	case err := <-answered:
		t.Fatalf("answered before the body was sent: %v", err)
	case <-time.After(patience):
		t.Fatal("the server does not ask for the body")
	}
	shared.change(t, lns, func(s *v1alpha1.LNamespaceSpec) { s.Sudoers = s.Sudoers[1:] })
	shared.reports(t, lns, "[]")
	if lns.Status.RevokedAt == nil {
		t.Error("revokedAt is not set")
	}
	door := bindingTo("ClusterRole", "view", lns.Name, "door", "late-sudoer")
	door.SetGroupVersionKind(rbacv1.SchemeGroupVersion.WithKind("RoleBinding"))
	text, err := json.Marshal(door)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := send.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := send.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-answered; err != nil {
		t.Fatal(err)
	}
	shared.reports(t, lns, "[{RoleBinding door late-sudoer}]")
}

// TestLeftoversInAnAdoptedNamespace checks what happens with objects that were made with sudo in a
// namespace that stays when the LNamespace is deleted.
//
// Attack: with sudo, a caller creates a binding in a namespace that an administrator handed over, and the tenant is
// deleted
// Answer: the binding is removed, or an event says how to find it; what others made stays
func TestLeftoversInAnAdoptedNamespace(t *testing.T) {
	for name, how := range map[string]v1alpha1.AtRevocation{"adopted-remove": v1alpha1.RemoveLeftovers, "adopted-report": v1alpha1.ReportLeftovers} {
		t.Run(string(how), func(t *testing.T) {
			ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
			lns := tenant(name)
			lns.Spec.Sudo.AtRevocation = how
			create(t, shared.client, ns, lns)
			before := ns.DeepCopy()
			ns.Annotations = map[string]string{names.AdoptedBy: string(lns.UID)}
			if err := shared.client.Patch(t.Context(), ns, client.MergeFrom(before)); err != nil {
				t.Fatal(err)
			}
			sudo := shared.sudo(t, name+"-sudoer", name)
			door, key, own := bindingTo("ClusterRole", "admin", name, "door", "friend"), secret(name, "key"), secret(name, "own")
			create(t, sudo, door, key)
			create(t, shared.client, own)
			if err := shared.client.Delete(t.Context(), lns); err != nil {
				t.Fatal(err)
			}
			shared.gone(t, lns)
			if how == v1alpha1.RemoveLeftovers {
				shared.gone(t, door)
				shared.gone(t, key)
			} else {
				shared.there(t, door)
				shared.there(t, key)
				wait(t, "there is an event", func() error {
					list := &eventsv1.EventList{}
					if err := shared.client.List(t.Context(), list, client.InNamespace("default")); err != nil {
						return err
					}
					for _, event := range list.Items {
						if event.Regarding.Name == name && event.Reason == "Leftovers" && strings.Contains(event.Note, "2 entries") && strings.Contains(event.Note, names.MadeWithSudo) {
							return nil
						}
					}
					return fmt.Errorf("%d events, none of them", len(list.Items))
				})
			}
			shared.there(t, own)
			if err := shared.client.Get(t.Context(), client.ObjectKeyFromObject(ns), ns); err != nil || ns.DeletionTimestamp != nil {
				t.Errorf("the adopted namespace: %v, %v", err, ns.DeletionTimestamp)
			}
		})
	}
}
