// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kube-granular.dev/tenancy/api/v1alpha1"
	"kube-granular.dev/tenancy/internal/names"
)

// freeAddress returns an address on the loopback interface at which no process listens.
func freeAddress(t testing.TB) string {
	t.Helper()
	address, err := findAddress()
	if err != nil {
		t.Fatal(err)
	}
	return address
}

func findAddress() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}

// withWebhooks installs webhook configurations with an address, and starts a controller that
// serves the webhooks at this address, with certificates that are valid for seconds.
func (c *cluster) withWebhooks(t *testing.T, address string, args ...string) *controller {
	t.Helper()
	k := c.run(t, append([]string{"--webhook-address", address, "--webhook-certificate-lifetime", "10s"}, args...)...)
	wait(t, "the controller is ready", func() error {
		if code, err := k.get("/readyz"); err != nil || code != 200 {
			return fmt.Errorf("%d, %w", code, err)
		}
		return nil
	})
	return k
}

func (c *cluster) install(t *testing.T, address string) {
	t.Helper()
	for range 2 { // the command is idempotent
		if out, err := c.command("admin", nil, "tenancy-controller", "install", "--webhook-url", "https://"+address); err != nil || !strings.Contains(out, "ValidatingWebhookConfiguration lnamespace") {
			t.Fatalf("install: %v: %s", err, out)
		}
	}
}

// TestWebhooks runs on a server that does not authorize fields and that has no admission policy.
// It checks that the webhooks set the account, that a manager can't become a sudoer, that no
// request fails while the certificate is rotated, and what is refused while no webhook answers.
func TestWebhooks(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "default", "--feature-gates", "GranularAuthorization=false")
	// This signing request was created before the webhook was installed, and is not approved yet.
	early := c.request(t, "early", "kubernetes.io/kube-apiserver-client", names.SudoGroup("team"))
	if err := c.client.Create(t.Context(), early); err != nil {
		t.Fatal(err)
	}
	address := freeAddress(t)
	mapping := filepath.Join(c.dir, "accounts.yaml")
	if err := os.WriteFile(mapping, []byte("users: {ada: '4711'}\ngroups: {research: '1', ops: '2'}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c.install(t, address)
	metrics := freeAddress(t)
	for _, kind := range []string{"validatingadmissionpolicybinding", "validatingadmissionpolicy"} {
		if out, err := c.kubectl("admin", "delete", kind, "lnamespace-lists", "lnamespace-creation"); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	k := c.withWebhooks(t, address, "--accounts", mapping, "--metrics-address", metrics)
	c.allowed(t, "ada", nil, "create", "lnamespaces", "", "")

	t.Run("who pays", func(t *testing.T) {
		for _, tc := range []struct {
			who, account  string
			groups        []string
			want, refused string
		}{
			{who: "ada", want: "4711"},
			{who: "ada", account: "9", want: "9"},
			{who: "bob", groups: []string{"ops"}, want: "2"},
			{who: "bob", groups: []string{"ops", "research"}, refused: "1 (group research), 2 (group ops)"},
			{who: "bob", groups: []string{"ops", "research"}, account: "1", want: "1"},
			{who: "bob"},
		} {
			lns := &v1alpha1.LNamespace{ObjectMeta: metav1.ObjectMeta{Name: "pays"},
				Spec: v1alpha1.LNamespaceSpec{Billing: v1alpha1.Billing{Account: tc.account}}}
			err := c.as(t, tc.who, tc.groups...).Create(t.Context(), lns)
			if (err != nil) != (tc.refused != "") || err != nil && !strings.Contains(err.Error(), tc.refused) || err == nil && lns.Spec.Billing.Account != tc.want {
				t.Errorf("%s %v: %q, %v", tc.who, tc.groups, lns.Spec.Billing.Account, err)
			}
			if err == nil {
				if err := c.client.Delete(t.Context(), lns); err != nil {
					t.Error(err)
				}
				c.gone(t, lns)
			}
		}
	})
	t.Run("a reserved name", func(t *testing.T) {
		if err := c.as(t, "ada").Create(t.Context(), tenant("tenancy-system")); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "can't belong to a tenant") {
			t.Errorf("%v", err)
		}
	})
	t.Run("an account is required", func(t *testing.T) { requiredAccount(t, c, mapping) })
	t.Run("a large one", func(t *testing.T) { roomForStatus(t, c) })
	t.Run("a manager", func(t *testing.T) { managerIsNoSudoer(t, c) })
	t.Run("limits", func(t *testing.T) { creatorsLiftNoLimits(t, c) })
	t.Run("requests for certificates", func(t *testing.T) {
		for name, tc := range map[string]struct {
			signer  string
			groups  []string
			refused bool
		}{
			"a person": {signer: "kubernetes.io/kube-apiserver-client", groups: []string{"ops"}},
			"the group": {signer: "kubernetes.io/kube-apiserver-client",
				groups: []string{names.SudoGroup("team")}, refused: true},
			"of a signer of ours": {signer: "example.com/people", groups: []string{"ops", names.SudoGroup("team")},
				refused: true},
		} {
			r := c.request(t, strings.ReplaceAll(name, " ", "-"), tc.signer, tc.groups...)
			if err := c.client.Create(t.Context(), r); (err != nil) != tc.refused || err != nil && (!apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "no certificate may have one")) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if out, err := c.kubectl("admin", "certificate", "approve", "early"); err == nil || !strings.Contains(out, "no certificate may have one") {
			t.Errorf("one from before is approved: %v: %s", err, out)
		}
		if out, err := c.kubectl("admin", "certificate", "approve", "a-person"); err != nil {
			t.Errorf("a person's: %v: %s", err, out)
		}
	})
	t.Run("metrics", func(t *testing.T) {
		answer, err := http.Get("http://" + metrics + "/metrics")
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"tenancy_webhook_certificate_expiry_timestamp_seconds ", `controller_runtime_webhook_requests_total{code="200",webhook="/lists"}`, `controller_runtime_reconcile_total{controller="tenant",result="success"}`, "leader_election_master_status{"} {
			if !strings.Contains(string(text), "\n"+name) {
				t.Errorf("there is no %s", name)
			}
		}
	})
	t.Run("certificates change", func(t *testing.T) {
		lns := c.make(t, tenant("rotation"))
		manager := c.as(t, "rotation-manager")
		wait(t, "the manager may", func() error { return c.may("rotation-manager", nil, "patch", "lnamespaces", "", lns.Name, true) })
		seen := map[string]bool{}
		wait(t, "four certificates", func() error {
			before := lns.DeepCopy()
			lns.Spec.Billing.Account = fmt.Sprint(len(seen), lns.ResourceVersion)
			if err := manager.Patch(t.Context(), lns, client.MergeFrom(before)); err != nil {
				t.Fatalf("after %d certificates: %v", len(seen), err)
			}
			serial, err := served(address)
			if err != nil {
				return err
			}
			if seen[serial] = true; len(seen) < 4 {
				return fmt.Errorf("%d", len(seen))
			}
			return nil
		})
	})
	t.Run("nobody answers", func(t *testing.T) {
		lns := c.make(t, tenant("away"))
		c.allowed(t, "away-manager", nil, "patch", "lnamespaces", "", lns.Name)
		c.allowed(t, "away-sudoer", nil, "impersonate", "groups", "", names.SudoGroup(lns.Name))
		if err := k.stop(); err != nil {
			t.Fatal(err)
		}
		away := func(err error) error {
			if err == nil || !strings.Contains(err.Error(), "failed calling webhook") {
				return fmt.Errorf("not refused for want of an answer: %w", err)
			}
			return nil
		}
		manager := lns.DeepCopy()
		manager.Spec.Users = nil
		if err := errors.Join(
			away(c.as(t, "ada").Create(t.Context(), tenant("away-new"))),
			away(c.as(t, "away-manager").Patch(t.Context(), manager, client.MergeFrom(lns))),
			away(c.client.Create(t.Context(), c.request(t, "away", "kubernetes.io/kube-apiserver-client", "ops"))),
		); err != nil {
			t.Error(err)
		}
		// Without a webhook these requests still succeed: a node requests its certificate, sudoers
		// use sudo, an administrator removes somebody from a list, a tenant is deleted.
		if err := c.client.Create(t.Context(), c.request(t, "node", "kubernetes.io/kube-apiserver-client-kubelet", "system:nodes")); err != nil {
			t.Errorf("a node: %v", err)
		}
		c.allowed(t, "away-sudoer", nil, "impersonate", "groups", "", names.SudoGroup(lns.Name))
		before := lns.DeepCopy()
		lns.Spec.Sudoers = nil
		if err := c.client.Patch(t.Context(), lns, client.MergeFrom(before)); err != nil {
			t.Errorf("an administrator: %v", err)
		}
		rotation := &v1alpha1.LNamespace{ObjectMeta: metav1.ObjectMeta{Name: "rotation"}}
		if err := c.client.Delete(t.Context(), rotation); err != nil && !apierrors.IsNotFound(err) {
			t.Errorf("a deletion: %v", err)
		}
		c.withWebhooks(t, address, "--accounts", mapping)
		c.settled(t, lns)
		c.refused(t, "away-sudoer", nil, "impersonate", "groups", "", names.SudoGroup(lns.Name))
		c.gone(t, rotation)
	})
	// The twin: without the webhook and without the policy, a manager may change all lists.
	t.Run("without the webhook", func(t *testing.T) {
		lns := c.make(t, tenant("twin"))
		c.allowed(t, "twin-manager", nil, "patch", "lnamespaces", "", lns.Name)
		if out, err := c.kubectl("admin", "delete", "validatingwebhookconfiguration", "lnamespace"); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		wait(t, "the manager becomes sudoer", func() error {
			after := lns.DeepCopy()
			after.Spec.Sudoers = []v1alpha1.Subject{user("twin-manager")}
			return c.as(t, "twin-manager").Patch(t.Context(), after, client.MergeFrom(lns))
		})
		c.allowed(t, "twin-manager", nil, "impersonate", "groups", "", names.SudoGroup(lns.Name))
	})
}

// served returns the serial number of the certificate that is served at an address.
func served(address string) (string, error) {
	connection, err := (&tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}}).DialContext(context.Background(), "tcp", address)
	if err != nil {
		return "", err
	}
	defer connection.Close()
	return connection.(*tls.Conn).ConnectionState().PeerCertificates[0].SerialNumber.String(), nil
}

// request returns a CertificateSigningRequest for a client certificate with these groups.
func (c *cluster) request(t *testing.T, name, signer string, groups ...string) *certificatesv1.CertificateSigningRequest {
	t.Helper()
	common := "mallory"
	if strings.HasSuffix(signer, "-kubelet") {
		common = "system:node:n"
	}
	_, text := keyAndRequest(t, common, groups...)
	return &certificatesv1.CertificateSigningRequest{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: certificatesv1.CertificateSigningRequestSpec{
		Request: text, SignerName: signer, Usages: []certificatesv1.KeyUsage{certificatesv1.UsageClientAuth},
	}}
}
