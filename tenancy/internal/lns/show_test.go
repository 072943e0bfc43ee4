// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package lns

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kube-granular.dev/api/printing"
	"kube-granular.dev/tenancy/api/v1alpha1"
)

// TestShow checks what is printed of a tenant with people, periods and leftovers, and of one without.
func TestShow(t *testing.T) {
	day := func(n int) metav1.Time { return metav1.NewTime(time.Date(2026, 11, n, 0, 0, 0, 0, time.UTC)) }
	end := day(3)
	full := &v1alpha1.LNamespace{
		ObjectMeta: metav1.ObjectMeta{Name: "books", Generation: 2},
		Spec: v1alpha1.LNamespaceSpec{
			Users:   []v1alpha1.Subject{{Name: "ada"}, {Kind: "ServiceAccount", Namespace: "ci", Name: "robot", Until: "2026-11-08T00:00:00Z"}},
			Sudoers: []v1alpha1.Subject{{Kind: "Group", Name: "ops"}},
			Sudo:    v1alpha1.Sudo{Allow: []v1alpha1.SudoAllowance{"Quotas", "Lists"}}, Billing: v1alpha1.Billing{Account: "4711"},
		},
		Status: v1alpha1.LNamespaceStatus{
			NamespaceUID: "x", Adopted: true, Granted: v1alpha1.Granted{Users: []v1alpha1.Subject{{Kind: "User", Name: "ada"}}},
			Leftovers: []v1alpha1.Leftover{{Kind: "Role", Name: "door", Maker: "bob"}},
			Billing: &v1alpha1.BillingStatus{Open: &v1alpha1.BillingPeriod{Account: "4711", Start: day(3)},
				Pending: []v1alpha1.BillingPeriod{{Start: day(1), End: &end}}},
			Conditions: []metav1.Condition{{Type: "Ready", Status: "True", ObservedGeneration: 1}, {Type: "Clean", Status: "False", Reason: "MadeWithSudo", Message: "1 object"}},
		},
	}
	for name, tc := range map[string]struct {
		t    *v1alpha1.LNamespace
		want string
	}{
		"full": {full, `Tenant:      books
Ready:       not yet
Namespace:   was handed over, and stays when the LNamespace is deleted
Sudo:        everything in the namespace, and Quotas, Lists
Account:     4711
Clean:       MadeWithSudo: 1 object

LIST      KIND             NAME       GRANTED   UNTIL
users     User             ada        yes
          ServiceAccount   ci/robot   not yet   2026-11-08T00:00:00Z
sudoers   Group            ops        not yet

ACCOUNT   SINCE                  UNTIL                  TIME
none      2026-11-01T00:00:00Z   2026-11-03T00:00:00Z   2d
4711      2026-11-03T00:00:00Z   now                    4d

LEFT OVER   NAME   MADE OR CHANGED BY
Role        door   bob
`},
		"empty": {&v1alpha1.LNamespace{ObjectMeta: metav1.ObjectMeta{Name: "x"}}, `Tenant:      x
Ready:       unknown
Namespace:   none belongs to the tenant
Sudo:        everything in the namespace
Account:     none

No list names anybody.

No account was billed.

Nothing is left over.
`},
	} {
		var out bytes.Buffer
		if err := show(printing.NewPage(&out, false), tc.t, day(7).Time); err != nil || out.String() != tc.want {
			t.Errorf("%s: %v\n%s", name, err, out.String())
		}
	}
}

// TestOperations checks the JSON patches for lists and for the account: they name only the entries that
// change, and keep fields of entries that the plugin does not know.
func TestOperations(t *testing.T) {
	who := []v1alpha1.Subject{{Kind: "User", Name: "ada"}, {Kind: "Group", Name: "ops"}}
	for name, tc := range map[string]struct {
		spec string
		edit func(*unstructured.Unstructured) ([]operation, error)
		want string
	}{
		"add to nothing": {`{}`, func(o *unstructured.Unstructured) ([]operation, error) { return addition(o, "users", who) },
			`[{"op":"add","path":"/spec","value":{"users":[{"kind":"User","name":"ada"},{"kind":"Group","name":"ops"}]}}]`},
		"add to a spec": {`{"spec":{"managers":[]}}`, func(o *unstructured.Unstructured) ([]operation, error) { return addition(o, "users", who[:1]) },
			`[{"op":"add","path":"/spec/users","value":[{"kind":"User","name":"ada"}]}]`},
		"add to a list": {`{"spec":{"users":[{"name":"ada","note":"x"}]}}`, func(o *unstructured.Unstructured) ([]operation, error) { return addition(o, "users", who) },
			`[{"op":"add","path":"/spec/users/-","value":{"kind":"Group","name":"ops"}}]`},
		"add beside an entry that ends": {`{"spec":{"users":[{"name":"ada","until":"2026-11-08T00:00:00Z"}]}}`,
			func(o *unstructured.Unstructured) ([]operation, error) { return addition(o, "users", who[:1]) },
			`[{"op":"add","path":"/spec/users/-","value":{"kind":"User","name":"ada"}}]`},
		"remove each entry": {`{"spec":{"users":[{"name":"ada"},{"name":"bob"},{"kind":"User","name":"ada","until":"x"},{"kind":"Group","name":"ada"}]}}`,
			func(o *unstructured.Unstructured) ([]operation, error) { return removal(o, "users", who[:1]) },
			`[{"op":"remove","path":"/spec/users/2"},{"op":"remove","path":"/spec/users/0"}]`},
		"the account of nothing": {`{"spec":{}}`, func(o *unstructured.Unstructured) ([]operation, error) {
			return setField(o, "1", "spec", "billing", "account"), nil
		},
			`[{"op":"add","path":"/spec/billing","value":{"account":"1"}}]`},
		"the account": {`{"spec":{"billing":{"labels":{"a":"b"}}}}`, func(o *unstructured.Unstructured) ([]operation, error) {
			return setField(o, "1", "spec", "billing", "account"), nil
		},
			`[{"op":"add","path":"/spec/billing/account","value":"1"}]`},
	} {
		object := &unstructured.Unstructured{}
		if err := json.Unmarshal([]byte(tc.spec), &object.Object); err != nil {
			t.Fatal(err)
		}
		operations, err := tc.edit(object)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got, err := json.Marshal(operations); err != nil || string(got) != tc.want {
			t.Errorf("%s: %v, %s, wanted %s", name, err, got, tc.want)
		}
	}
}
