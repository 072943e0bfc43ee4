// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"kube-granular.dev/test/integration/controllers"
	"kube-granular.dev/test/integration/harness"
)

// tenants returns LNamespaces with the given names that use every field of a tenant.
func tenants(names ...string) string {
	text := ""
	for _, name := range names {
		text += strings.ReplaceAll(`
---
apiVersion: tenancy.kube-granular.dev/v1alpha1
kind: LNamespace
metadata: {name: NAME}
spec:
  users: [{name: NAME-user}, {kind: Group, name: NAME-group}]
  managers: [{name: NAME-manager}]
  sudoers: [{name: NAME-sudoer}, {name: everywhere}]
  sudo: {allow: [Lists, Quotas, Namespace, Delete]}
  billing: {account: a}
`, "NAME", name)
	}
	return text
}

// TestTenantsAreCollected deletes a tenant in a cluster with upstream's garbage collector and
// namespace controller. Nothing of the tenant may stay, nothing else may change, and a new
// tenant of the same name must begin empty.
func TestTenantsAreCollected(t *testing.T) {
	c := harness.Start(t, "--demo=false", "--tenancy")
	if err := controllers.RunCleanup(t.Context(), harness.Config(t, c, "admin")); err != nil {
		t.Fatal(err)
	}
	must(t, c, tenants("a", "b"), "create", "-f", "-")
	for _, name := range []string{"a", "b"} {
		must(t, c, "", "wait", "--for=condition=Ready", "--timeout=60s", "lns/"+name)
		must(t, c, "", "create", "configmap", "-n", name, "content")
		must(t, c, "", "create", "secret", "generic", "-n", name, "more")
	}
	const kinds = "namespaces,roles,rolebindings,clusterroles,clusterrolebindings"
	of := func(selector string) string {
		return must(t, c, "", "get", kinds, "-A", "-l", selector, "--ignore-not-found", "-o", `jsonpath={range .items[*]}{.kind} {.metadata.name} {.metadata.uid}{"\n"}{end}`)
	}
	const owner = "tenancy.kube-granular.dev/lnamespace="
	before := of(owner + "b")
	if n := strings.Count(before, "\n"); n != 13 || strings.Count(of(owner+"a"), "\n") != n {
		t.Fatalf("a tenant has %d objects:\n%s", n, before)
	}
	must(t, c, "", "delete", "lns", "a", "--timeout=60s")
	harness.UntilSeen(t, "nothing of the tenant is left", func() (bool, string) {
		left := of(owner + "a")
		out, err := kubectl(t, c, "", "get", "namespace", "a")
		return left == "" && err != nil && strings.Contains(out, "NotFound"), left + out
	})
	if after := of(owner + "b"); after != before {
		t.Errorf("the other tenant had\n%s\nand has\n%s", before, after)
	}
	must(t, c, "", "get", "configmap", "-n", "b", "content")
	must(t, c, tenants("a"), "create", "-f", "-")
	must(t, c, "", "wait", "--for=condition=Ready", "--timeout=60s", "lns/a")
	if out := must(t, c, "", "get", "configmaps,secrets", "-n", "a", "-o", "name"); strings.Contains(out, "content") || strings.Contains(out, "more") {
		t.Errorf("what the last tenant of the name left: %s", out)
	}
	harness.UntilSeen(t, "the new tenant has its rights", func() (bool, string) {
		out, err := kubectl(t, c, "", "auth", "can-i", "create", "deployments", "-n", "a", "--as", "a-user")
		return err == nil, fmt.Sprint(out)
	})
	// A user that is removed from the list of sudoers loses the right through a write of the
	// tenancy controller, and not through the garbage collector.
	mayBecome := func(who string) string {
		out, _ := kubectl(t, c, "", "auth", "can-i", "impersonate", "groups/lnamespace:b-sudoers", "--as", who)
		return strings.TrimSpace(out)
	}
	for _, who := range []string{"b-sudoer", "everywhere"} {
		harness.UntilSeen(t, who+" may", func() (bool, string) { out := mayBecome(who); return strings.HasSuffix(out, "yes"), out })
	}
	must(t, c, "", "patch", "lns", "b", "--type=merge", "-p", `{"spec":{"sudoers":[{"name":"everywhere"}]}}`)
	harness.UntilSeen(t, "who left may not", func() (bool, string) {
		out := mayBecome("b-sudoer")
		return strings.HasSuffix(out, "no"), out
	})
	if out := mayBecome("everywhere"); !strings.HasSuffix(out, "yes") {
		t.Errorf("who stayed: %s", out)
	}
	// As long as the owner exists, the garbage collector deletes nothing of a tenant: only the role of
	// who left is gone, and its binding.
	kept := slices.DeleteFunc(strings.Split(before, "\n"), func(line string) bool { return strings.Contains(line, ":sudoer:b-sudoer:") })
	if after := strings.Split(of(owner+"b"), "\n"); !slices.Equal(after, kept) {
		t.Errorf("the other tenant had\n%s\nand has\n%s", before, strings.Join(after, "\n"))
	}
}
