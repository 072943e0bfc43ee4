// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"
)

// TestSample holds that the snapshot by which the page is tested has the format of this package.
func TestSample(t *testing.T) {
	data, err := os.ReadFile("../web/testdata/sample.json")
	if err != nil {
		t.Fatal(err)
	}
	sample := &Snapshot{}
	strict := json.NewDecoder(bytes.NewReader(data))
	strict.DisallowUnknownFields()
	if err := strict.Decode(sample); err != nil {
		t.Fatal(err)
	}
	if err := sample.Validate(); err != nil {
		t.Error(err)
	}
	sample.Bindings[0][2] = len(sample.Roles)
	if err := sample.Validate(); err == nil {
		t.Error("a binding of a role that is not there is valid")
	}
}
