// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestStacks(t *testing.T) {
	const script = `
          43a1b2 runtime.mallocgc
          1d3c40 encoding/json.(*decodeState).object
          47e6a1 runtime.goexit.abi0

ffffffff8a1 [unknown]
          47e6a1 runtime.goexit.abi0


          10 sync/atomic.(*Pointer[go.shape.struct { Group string; Version string }]).Load`
	var got [][]string
	if err := stacks(strings.NewReader(script), func(functions []string) { got = append(got, slices.Clone(functions)) }); err != nil {
		t.Fatal(err)
	}
	want := [][]string{
		{"runtime.mallocgc", "encoding/json.(*decodeState).object", "runtime.goexit.abi0"},
		{"[unknown]", "runtime.goexit.abi0"},
		{"sync/atomic.(*Pointer[go.shape.struct { Group string; Version string }]).Load"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if err := stacks(strings.NewReader("nonsense\n"), func([]string) {}); err == nil {
		t.Error("what is no sample is taken for one")
	}
	if err := Stacks(t.Context(), "no-such-file", func([]string) {}); err == nil {
		t.Error("there is no such file, and no error")
	}
}
