// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package permission

import "testing"

func TestStoresFields(t *testing.T) {
	for subresource, want := range map[string]bool{
		"": true, "status": true, "scale": true, "resize": true, "ephemeralcontainers": true, "approval": true, "finalize": true,
		"attach": false, "binding": false, "eviction": false, "exec": false, "finalizers": false, "log": false, "portforward": false,
		"proxy": false, "token": false, "Status": false, "status/x": false, "unknown": false,
	} {
		if got := StoresFields(subresource); got != want {
			t.Errorf("%q: %t, want %t", subresource, got, want)
		}
	}
}
