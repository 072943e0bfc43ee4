// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package fieldpermission

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/test/integration/harness"
)

const (
	fieldPermissions = "/apis/authority.kube-granular.dev/v1alpha1/fieldpermissions"
	gates            = "FieldPermissions=true,SelectedAuthority=true,AuthorityDelegation=true"
)

var (
	// server is the shared server.
	server *harness.Server
	// auditLog is its audit log.
	auditLog string
)

func TestMain(m *testing.M) {
	harness.Main(m, func(dir string) (stop func() error, err error) {
		flags, log, err := harness.LogChanges(dir)
		if err != nil {
			return nil, err
		}
		auditLog = log
		server, err = harness.NewServer(append(flags, "--feature-gates", gates)...)
		return server.Stop, err
	})
}

// excluded returns an entry that update does not include, and named one that it includes.
func excluded(path, permission string) v1alpha1.FieldEntry {
	return v1alpha1.FieldEntry{Path: path, Permission: permission, Excluded: true}
}

func named(path, permission string) v1alpha1.FieldEntry {
	return v1alpha1.FieldEntry{Path: path, Permission: permission}
}

// object returns a FieldPermission as a client writes it.
func object(name string, mode v1alpha1.Mode, version string, fields ...v1alpha1.FieldEntry) map[string]any {
	spec := map[string]any{"fields": fields}
	if mode != "" {
		spec["mode"] = mode
	}
	if version != "" {
		spec["version"] = version
	}
	return map[string]any{
		"apiVersion": "authority.kube-granular.dev/v1alpha1", "kind": "FieldPermission",
		"metadata": map[string]any{"name": name}, "spec": spec,
	}
}

// put stores a FieldPermission until the test ends, as the administrator.
func put(t *testing.T, s *harness.Server, name string, mode v1alpha1.Mode, version string, fields ...v1alpha1.FieldEntry) harness.Answer {
	t.Helper()
	a := s.MustSend(t, http.MethodPatch, fieldPermissions+"/"+name+"?fieldManager=test&force=true", harness.ContentTypes["apply"], object(name, mode, version, fields...))
	t.Cleanup(func() { remove(t, s, name) })
	return a
}

// remove removes a FieldPermission, if it is there.
func remove(t *testing.T, s *harness.Server, name string) {
	t.Helper()
	if a := s.Send(t, "", http.MethodDelete, fieldPermissions+"/"+name, "", nil); a.Code >= 300 && a.Code != http.StatusNotFound {
		t.Error(a)
	}
}

// stored returns a stored FieldPermission.
func stored(t *testing.T, s *harness.Server, name string) *v1alpha1.FieldPermission {
	t.Helper()
	out := &v1alpha1.FieldPermission{}
	if err := json.Unmarshal(s.MustSend(t, http.MethodGet, fieldPermissions+"/"+name, "", nil).Body, out); err != nil {
		t.Fatal(err)
	}
	return out
}

// define serves the definitions of a file below testdata.
func define(t *testing.T, s *harness.Server, file string) {
	t.Helper()
	text, err := os.ReadFile("testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	for _, document := range strings.Split(string(text), "\n---\n") {
		s.Install(t, []byte(document))
	}
}

// caller adds a caller that holds verbs on all resources, and returns its name.
func caller(s *harness.Server, verbs ...string) string {
	name := fmt.Sprintf("caller-%d", harness.Unique())
	s.Callers.AddCaller(name, verbs...)
	return name
}
