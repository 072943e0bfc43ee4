// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"
)

// TestMark holds what the command mark prints, writes and returns. It writes nothing without --write, and
// nothing at all if one marker is wrong.
func TestMark(t *testing.T) {
	examples, err := filepath.Abs(filepath.Join("..", "..", "..", "test", "integration", "plugin", "testdata", "examples"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(examples)); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	content := func() string {
		t.Helper()
		data, err := os.ReadFile("robots.yaml")
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	before := content()
	const extension = "                x-kubernetes-permission-verb: factory.example.com/movement\n"
	for _, test := range []struct {
		args, out, errs string
		err             error
		written         bool
	}{
		{"robots.yaml", "", "", errors.New("--types is needed"), false},
		{"", "", "", errors.New("requires at least 1 arg"), false},
		{"--types robot robots.yaml none.yaml --write", "", "", os.ErrNotExist, false},
		{"--types none robots.yaml", "", "", errors.New("none"), false},
		{"--types robot definition.yaml --write", "", "", errors.New("definition.yaml:25: no marker wants x-kubernetes-permission-verb"), false},
		{"--types robot robots.yaml", "robots.yaml:21: lacks x-kubernetes-permission-verb: factory.example.com/movement (robot/types.go:18)\n" +
			"robots.yaml:21: lacks x-kubernetes-permission-verb: specification (robot/types.go:12)\n", "2 extensions missing\n", ErrNo, false},
		{"--types robot robots.yaml -o json", `"line": 21`, "2 extensions missing\n", ErrNo, false},
		{"--types robot robots.yaml --write", "", "2 extensions written\n", nil, true},
		{"--types robot robots.yaml --write", "", "0 extensions written\n", nil, true},
		{"--types robot robots.yaml", "", "0 extensions missing\n", nil, true},
	} {
		streams, _, out, errs := genericiooptions.NewTestIOStreams()
		cmd := New(streams)
		cmd.SetArgs(append([]string{"mark"}, strings.Fields(test.args)...))
		err := cmd.Execute()
		if (err == nil) != (test.err == nil) || err != nil && !errors.Is(err, test.err) && !strings.Contains(err.Error(), test.err.Error()) {
			t.Errorf("%s: %v, want %v", test.args, err, test.err)
		}
		if !strings.Contains(out.String(), test.out) || test.out == "" && out.Len() > 0 || errs.String() != test.errs {
			t.Errorf("%s: printed %q and %q", test.args, out, errs)
		}
		if after := content(); (after != before) != test.written || test.written && !strings.Contains(after, extension) {
			t.Errorf("%s: the file is now\n%s", test.args, after)
		}
	}
}
