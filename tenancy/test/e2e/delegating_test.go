// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kube-granular.dev/api/selection"
	"kube-granular.dev/api/selection/transport"

	"kube-granular.dev/tenancy/api/v1alpha1"
)

// gates are the feature gates that sudo by delegation needs.
const gates = "GranularAuthorization=true,ProtectedAttributes=true,SelectedAuthority=true,AuthorityDelegation=true"

// delegating is the cluster in which sudo is delegation, with its controller.
var delegating struct {
	once       sync.Once
	cluster    *cluster
	controller *controller
	err        error
}

// delegatingLog returns the path of the audit log of the cluster in which sudo is delegation.
func delegatingLog() string {
	return filepath.Join(os.TempDir(), fmt.Sprintf("tenancy-audit-%d.log", os.Getpid()))
}

// byDelegation returns the cluster in which sudo is delegation. The first call starts the cluster.
func byDelegation(t *testing.T) *cluster {
	t.Helper()
	d := &delegating
	d.once.Do(func() {
		if d.cluster, d.err = startCluster("delegation", "--feature-gates", gates, "--audit-log", delegatingLog()); d.err == nil {
			d.controller, d.err = d.cluster.startDelegating()
		}
	})
	if d.err != nil {
		t.Fatal(d.err)
	}
	return d.cluster
}

func (c *cluster) startDelegating() (*controller, error) {
	return c.startController("--sudo", "Delegation", "--field-permissions")
}

// stopDelegating stops what byDelegation started.
func stopDelegating() error {
	d := &delegating
	var err error
	if d.controller != nil {
		err = d.controller.stop()
	}
	if d.cluster != nil {
		err = errors.Join(err, d.cluster.stop(), os.Remove(delegatingLog()))
	}
	return err
}

// delegationOf returns the delegation that the status names for a sudoer.
func delegationOf(t *testing.T, lns *v1alpha1.LNamespace, sudoer v1alpha1.Subject) v1alpha1.SudoDelegation {
	t.Helper()
	for _, d := range lns.Status.Delegations {
		if d.Subject == sudoer {
			return d
		}
	}
	t.Fatalf("%s: nothing is delegated to %v: %+v", lns.Name, sudoer, lns.Status)
	return v1alpha1.SudoDelegation{}
}

func byName(d v1alpha1.SudoDelegation) selection.AuthorityReference {
	return selection.AuthorityReference{Kind: selection.AuthorityDelegationKind, Name: d.Delegation}
}

// under returns a client that impersonates a user with groups, and that selects a delegation.
func (c *cluster) under(t *testing.T, ref selection.AuthorityReference, name string, groups ...string) client.Client {
	t.Helper()
	config := rest.CopyConfig(c.admin)
	config.Impersonate = rest.ImpersonationConfig{UserName: name, Groups: append(groups, "system:authenticated")}
	config.Wrap(transport.Always(&selection.SelectedAuthority{AuthorityReference: ref}))
	other, err := client.New(config, client.Options{Scheme: c.client.Scheme(), Mapper: c.client.RESTMapper()})
	if err != nil {
		t.Fatal(err)
	}
	return other
}

func secret(namespace, name string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
}

// commands returns two functions that run kubectl as a user. must checks that the command succeeds
// and prints want; mustFail checks that it fails and prints want.
func (c *cluster) commands(t *testing.T) (must, mustFail func(user, want string, args ...string)) {
	return func(user, want string, args ...string) {
			t.Helper()
			if out, err := c.kubectl(user, args...); err != nil || !strings.Contains(out, want) {
				t.Errorf("%s: kubectl %q: %v: %s", user, args, err, out)
			}
		}, func(user, want string, args ...string) {
			t.Helper()
			if out, err := c.kubectl(user, args...); err == nil || !strings.Contains(out, want) {
				t.Errorf("%s: kubectl %q: %v: %s", user, args, err, out)
			}
		}
}

// eventually repeats a kubectl command until it succeeds and prints want, because the server sees
// new permissions only after a moment.
func (c *cluster) eventually(t *testing.T, user, want string, args ...string) {
	t.Helper()
	wait(t, strings.Join(args, " "), func() error {
		out, err := c.kubectl(user, args...)
		if err == nil && !strings.Contains(out, want) {
			err = errors.New("not as wanted")
		}
		if err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	})
}
