// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestVetted checks that the list in docs/vetted matches a cluster without the manifests of this
// project, and that the command vetted compare reports additional permissions.
func TestVetted(t *testing.T) {
	c := newCluster(t, "", "--feature-gates", "GranularAuthorization=false")
	path := filepath.Join(c.root, "docs", "vetted", "kubernetes.yaml")
	out := ""
	// The server aggregates the roles a moment after its start: first edit, then admin.
	wait(t, "the roles are filled", func() error {
		var err error
		if out, err = c.command("admin", nil, "tenancy-controller", "vetted", "show"); err == nil && strings.Count(out, "- apps/deployments create\n") != 2 {
			err = errors.New("the roles are not complete yet")
		}
		return err
	})
	if *update {
		if err := os.WriteFile(path, []byte(out), 0o644); err != nil {
			t.Fatal(err)
		}
		t.Fatal("docs/vetted was written: look at the difference, and run the test again")
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	wait(t, "the cluster is as vetted", func() error {
		out, err = c.command("admin", nil, "tenancy-controller", "vetted", "show")
		if err == nil && out != string(text) {
			gains, _ := c.command("admin", nil, "tenancy-controller", "vetted", "compare", path)
			err = fmt.Errorf("%s\n-update-samples writes it", gains)
		}
		return err
	})
	if out, err := c.command("admin", nil, "tenancy-controller", "vetted", "compare", path); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	if out, err := c.kubectl("admin", "create", "clusterrole", "more", "--verb=bind", "--resource=roles"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if out, err := c.kubectl("admin", "label", "clusterrole", "more", "rbac.authorization.k8s.io/aggregate-to-edit=true"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	wait(t, "the command tells what users gain", func() error {
		out, err := c.command("admin", nil, "tenancy-controller", "vetted", "compare", path)
		if err != nil && strings.Contains(out, "edit: rbac.authorization.k8s.io/roles bind") {
			return nil
		}
		return err
	})
}
