// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"testing"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kube-granular.dev/tenancy/api/v1alpha1"
)

// TestRequestsOfTwoNames checks who is one person: names with the same UID are. What else an authenticator says of a
// user, such as a mail address in the extra information, makes no person of two names.
//
// Attack: somebody approves its own request by a second user name, for which the authenticator has the same UID
// Answer: 403
// Held by: TestJudge
// Attack: somebody approves its own request by a second user name, for which the authenticator has another UID or none,
// and which is in the lists, too; only a mail address in the extra information is the same
// Answer: 200, and sudo is granted: nothing says that the names are one person; give them one UID, or list one of them
func TestRequestsOfTwoNames(t *testing.T) {
	for name, tc := range map[string]struct {
		requester, approver string
		refused             bool
	}{
		"twice-one":  {"one", "one", true},
		"twice-two":  {"one", "two", false},
		"twice-half": {"one", "", false},
		"twice-none": {"", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			lns := shared.make(t, approved(name))
			as := func(user, uid string) client.Client {
				config := rest.CopyConfig(shared.admin)
				config.Impersonate = rest.ImpersonationConfig{UserName: user, UID: uid, Groups: []string{"system:authenticated"},
					Extra: map[string][]string{"example.com/mail": {"ada@example.com"}}}
				who, err := client.New(config, client.Options{Scheme: shared.client.Scheme(), Mapper: shared.client.RESTMapper()})
				if err != nil {
					t.Fatal(err)
				}
				return who
			}
			r, second := sudoRequest(lns, "r", "30m"), as(name+"-second", tc.approver)
			shared.asks(t, as(name+"-sudoer", tc.requester), r, v1alpha1.RequestPending)
			err := decides(t, second, r, v1alpha1.Approved)
			if tc.refused {
				if !forbidden(err) {
					t.Errorf("approved: %v", err)
				}
				// Another person may.
				err = decides(t, shared.as(t, name+"-manager"), r, v1alpha1.Approved)
			}
			if err != nil {
				t.Fatal(err)
			}
			shared.isIn(t, r, v1alpha1.RequestGranted)
		})
	}
}
