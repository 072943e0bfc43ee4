// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"kube-granular.dev/api/printing"
	"kube-granular.dev/tenancy/api/v1alpha1"
)

// lns runs kubectl lns as a user.
func (c *cluster) lns(user string, args ...string) (string, error) {
	return c.kubectl(user, append([]string{"lns"}, args...)...)
}

// TestLNS checks the commands of kubectl lns: what they print, what they change, and what the server refuses.
func TestLNS(t *testing.T) {
	lns := tenant("lns-books")
	lns.Spec.Billing = v1alpha1.Billing{} // so that the command makes what is missing
	lns.Spec.Users = nil
	shared.make(t, lns)
	manager := "lns-books-manager"
	shared.userConfig(t, manager)
	shared.allowed(t, manager, nil, "patch", "lnamespaces", "", lns.Name)
	for _, tc := range []struct {
		user, typed string
		want        string // what is printed; an error if it begins with "error"
		spec        string // users, managers, sudoers and account afterwards
	}{
		{manager, "add lns-books users ada group:ops serviceaccount:ci:robot", "lnamespace.tenancy.kube-granular.dev/lns-books patched\n",
			"[ada ops robot] [lns-books-manager] [lns-books-sudoer] "},
		{manager, "add lns-books users ada", "lnamespace.tenancy.kube-granular.dev/lns-books patched (no change)\n", "[ada ops robot] [lns-books-manager] [lns-books-sudoer] "},
		{manager, "add lns-books users bob user:ada group:ada", "patched\n", "[ada ops robot bob ada] [lns-books-manager] [lns-books-sudoer] "},
		{manager, "remove lns-books users ada serviceaccount:ci:robot", "patched\n", "[ops bob ada] [lns-books-manager] [lns-books-sudoer] "},
		{manager, "remove lns-books users bob zed", `error: LNamespace "lns-books": spec.users has no User "zed"` + "\n", "[ops bob ada] [lns-books-manager] [lns-books-sudoer] "},
		{manager, "add lns-books users eve --dry-run=server", "patched (server dry run)\n", "[ops bob ada] [lns-books-manager] [lns-books-sudoer] "},
		{manager, "add lns-books sudoers ada", "error: lnamespaces.tenancy.kube-granular.dev \"lns-books\" is forbidden", "[ops bob ada] [lns-books-manager] [lns-books-sudoer] "},
		{manager, "add lns-books sudoers ada --dry-run=server", "spec.sudoers needs the verb granular:tenancy.kube-granular.dev/sudoers", "[ops bob ada] [lns-books-manager] [lns-books-sudoer] "},
		{manager, "add lns-books users lnamespace:x", "names that begin with lnamespace: are reserved", "[ops bob ada] [lns-books-manager] [lns-books-sudoer] "},
		{manager, "account lns-books 4711", "patched\n", "[ops bob ada] [lns-books-manager] [lns-books-sudoer] 4711"},
		{manager, "account lns-books 4711", "patched (no change)\n", "[ops bob ada] [lns-books-manager] [lns-books-sudoer] 4711"},
		{manager, "account lns-books 4712", "patched\n", "[ops bob ada] [lns-books-manager] [lns-books-sudoer] 4712"},
		{manager, "remove lns-books sudoers lns-books-sudoer", "patched\n", "[ops bob ada] [lns-books-manager] [] 4712"},
		{"admin", "add lns-books sudoers ada", "patched\n", "[ops bob ada] [lns-books-manager] [ada] 4712"},
		{"admin", "add lns-books sudoers eve --until 2099-12-31T17:00:00+01:00", "patched\n", "[ops bob ada] [lns-books-manager] [ada eve] 4712"},
		{"admin", "add lns-books sudoers ada --until 8h", `error: LNamespace "lns-books": spec.sudoers has User "ada" already, and its entry ends later or never`, ""},
		{"admin", "remove lns-books sudoers eve", "patched\n", "[ops bob ada] [lns-books-manager] [ada] 4712"},
		{"admin", "add no-such-tenant users ada", `error: lnamespaces.tenancy.kube-granular.dev "no-such-tenant" not found`, ""},
		{"admin", "add lns-books owners ada", `error: "owners" is no list; want one of [users managers sudoers]; kubectl lns add --help shows the usage`, ""},
		{"admin", "add lns-books users", "error: want the NAME of an LNamespace, a list, and who", ""},
		{"admin", "add lns-books users ada --dry-run=client", "error: --dry-run client: want none or server", ""},
		{"admin", "show lns-books -o xml", "error: --output xml: want table", ""},
	} {
		out, err := shared.lns(tc.user, strings.Fields(tc.typed)...)
		if fails := strings.HasPrefix(tc.want, "error") || strings.Contains(tc.want, "needs the verb") || strings.Contains(tc.want, "reserved"); (err != nil) != fails || !strings.Contains(out, tc.want) {
			t.Errorf("%s: %v: %s", tc.typed, err, out)
		}
		if tc.spec == "" {
			continue
		}
		now := &v1alpha1.LNamespace{}
		if err := shared.client.Get(t.Context(), client.ObjectKeyFromObject(lns), now); err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(namesIn(now.Spec.Users), namesIn(now.Spec.Managers), namesIn(now.Spec.Sudoers), " ", now.Spec.Billing.Account); got != tc.spec && got+" " != tc.spec {
			t.Errorf("%s: %q, wanted %q", tc.typed, got, tc.spec)
		}
	}
	shared.settled(t, lns)
	out, err := shared.lns(manager, "show", "lns-books")
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, want := range []string{"Tenant:      lns-books\n", "Ready:       yes\n", "Account:     4712\n", "LIST       KIND", "users      Group", "           User    bob", "sudoers    User    ada"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
	if out, err := shared.lns(manager, "list"); err != nil || !strings.HasPrefix(out, "NAME ") || !strings.Contains(out, "lns-books ") {
		t.Errorf("%v: %s", err, out)
	}
	list := v1alpha1.LNamespaceList{}
	if out, err := shared.lns(manager, "list", "-o", "json"); err != nil || json.Unmarshal([]byte(out), &list) != nil || len(list.Items) == 0 || list.Kind != "LNamespaceList" {
		t.Errorf("%v: %s", err, out)
	}
	if out, err := shared.lns(manager, "add", "lns-books", "users", "carl", "--dry-run=server", "-o", "yaml"); err != nil || !strings.Contains(strings.ReplaceAll(out, `"`, ""), "name: carl\n") {
		t.Errorf("%v: %s", err, out)
	}
	for typed, want := range map[string]string{
		"lns show lns-bo":                    "lns-books\n",
		"lns add lns-books m":                "managers\n",
		"lns remove lns-books users ":        "group:ops\nbob\ngroup:ada\n",
		"lns remove lns-books users bob gro": "group:ops\ngroup:ada\n",
		"lns account lns-books 47":           "4712\n",
		"sudo -n lns-bo":                     "lns-books\n",
		"sudo -n lns-books creat":            "create\t",
	} {
		out, err := shared.command(manager, nil, "kubectl", append([]string{"__complete"}, strings.Split(typed, " ")...)...)
		if err != nil || !strings.Contains(out, want) {
			t.Errorf("%s: %v: %s", typed, err, out)
		}
	}
}

func namesIn(list []v1alpha1.Subject) []string {
	var out []string
	for _, s := range list {
		out = append(out, s.Name)
	}
	return out
}

// TestLNSLosesNoEdit checks that people who change one list at the same time do not overwrite each other.
//
// Attack: two managers change the same list at the same time, so that a name which one of them removed comes back,
// or one that was added is lost
// Answer: each change holds for what was read; else the command reads again
func TestLNSLosesNoEdit(t *testing.T) {
	lns := tenant("lns-race")
	const count = 6
	lns.Spec.Users = nil
	for i := range count {
		lns.Spec.Users = append(lns.Spec.Users, user(fmt.Sprintf("old-%d", i)))
	}
	shared.make(t, lns)
	wg := sync.WaitGroup{}
	for i := range count {
		for _, args := range [][]string{{"add", lns.Name, "users", fmt.Sprintf("new-%d", i)}, {"remove", lns.Name, "users", fmt.Sprintf("old-%d", i)}} {
			wg.Go(func() {
				for { // with twelve at a time, one can lose all of its attempts
					out, err := shared.lns("admin", args...)
					if err == nil {
						return
					}
					if !strings.Contains(out, "was changed by others") {
						t.Errorf("%v: %v: %s", args, err, out)
						return
					}
				}
			})
		}
	}
	wg.Wait()
	if err := shared.client.Get(t.Context(), client.ObjectKeyFromObject(lns), lns); err != nil {
		t.Fatal(err)
	}
	found := map[string]int{}
	for _, name := range namesIn(lns.Spec.Users) {
		found[name]++
	}
	for i := range count {
		if found[fmt.Sprintf("new-%d", i)] != 1 || found[fmt.Sprintf("old-%d", i)] != 0 {
			t.Errorf("%v", found)
		}
	}
}

// TestLNSTablesFit checks that the tables of kubectl lns and of adopt are no wider than a table may be, and have each
// name on its line, whatever the names contain.
func TestLNSTablesFit(t *testing.T) {
	long := strings.Repeat("x", 100) + "\u202e" + strings.Repeat("long ", 12)
	lns := tenant("lns-wide")
	lns.Spec.Users = []v1alpha1.Subject{user(long), user(long + "2")}
	lns.Spec.Billing.Account = long[:90]
	shared.make(t, lns)
	shared.existing(t, "adopt-wide", binding("adopt-wide", "b"+strings.Repeat("-wide", 30), "ClusterRole/admin", rbacUser(long)))
	for name, run := range map[string]func(output string) (string, error){
		"show": func(o string) (string, error) { return shared.lns("admin", "show", lns.Name, "-o", o) },
		"list": func(o string) (string, error) { return shared.lns("admin", "list", "-o", o) },
		"adopt": func(o string) (string, error) {
			return shared.adopt("admin", strings.ReplaceAll(repository, "NAME", "adopt-wide"), "-o", o)
		},
	} {
		out, err := run("table")
		if err != nil {
			t.Errorf("%s: %v: %s", name, err, out)
		}
		for line := range strings.Lines(out) {
			if strings.HasPrefix(line, "Nothing was changed.") {
				continue
			}
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > printing.MaxWidth || strings.Contains(line, "\u202e") {
				t.Errorf("%s: %d characters in %q", name, n, line)
			}
		}
		if wide, err := run("wide"); err != nil || strings.Contains(wide, "…") {
			t.Errorf("%s: %v: %s", name, err, wide)
		}
	}
}
