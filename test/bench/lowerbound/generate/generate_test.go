// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"testing"
)

func TestGeneratedIsUpToDate(t *testing.T) {
	want, err := source()
	if err != nil {
		t.Fatal(err)
	}
	there, err := os.ReadFile("../generated.go")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(there, want) {
		t.Error("generated.go is not what the types give: run go generate ./test/bench/lowerbound")
	}
}
