// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"kube-granular.dev/test/integration/harness"
)

// vast returns a CustomResourceDefinition of about the given size in JSON. If permissions is
// true, every group of fields has an excluded permission.
func vast(name string, bytes int, permissions bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"%[1]ss.vast.example.com"},"spec":{"group":"vast.example.com","scope":"Namespaced","names":{"plural":"%[1]ss","singular":"%[1]s","kind":"%[1]s","listKind":"%[1]sList"},"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","properties":{`, name)
	const group = 60
	for g := 0; b.Len() < bytes; g++ {
		if g > 0 {
			b.WriteString(",")
		}
		fmt.Fprintf(&b, `"g%d":{"type":"object"`, g)
		if permissions {
			fmt.Fprintf(&b, `,"x-kubernetes-permission-verb":"vast.example.com/g%d","x-kubernetes-permission-excluded":true`, g)
		}
		b.WriteString(`,"properties":{`)
		for f := range group {
			if f > 0 {
				b.WriteString(",")
			}
			fmt.Fprintf(&b, `"f%d":{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"array","items":{"type":"integer"}}}}`, f)
		}
		b.WriteString("}}")
	}
	b.WriteString("}}}}}}]}}")
	return b.String()
}

// TestVastCRD checks that the server handles the largest definition that fits in a request
// within a bounded time, and serves other requests meanwhile. It logs the times, and compares
// them with those of the same definition without permissions.
func TestVastCRD(t *testing.T) {
	plain := map[int]time.Duration{}
	for _, test := range []struct {
		name        string
		bytes       int
		permissions bool
		stored      bool
	}{
		{name: "plainhuge", bytes: 3_000_000},
		{name: "huge", bytes: 3_000_000, permissions: true},
		{name: "plainlarge", bytes: 900_000, stored: true},
		{name: "large", bytes: 900_000, permissions: true, stored: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			body := vast(test.name, test.bytes, test.permissions)
			ctx, stop := context.WithCancel(t.Context())
			var others []time.Duration
			var reader sync.WaitGroup
			reader.Go(func() {
				for ctx.Err() == nil {
					start := time.Now()
					status, answer, err := harness.Request(on, harness.Admin, http.MethodGet, "/api/v1/namespaces/default", "", "")
					if err != nil || status != http.StatusOK {
						t.Errorf("meanwhile: %d %s %v", status, answer, err)
						return
					}
					others = append(others, time.Since(start))
				}
			})
			start := time.Now()
			status, answer, err := harness.Request(on, harness.Admin, http.MethodPost, harness.Definitions, harness.ContentTypes["json"], body)
			took := time.Since(start)
			if err != nil {
				t.Fatal(err)
			}
			switch {
			case test.stored && status == http.StatusCreated:
			// etcd's limit for an object is half of the server's limit for a request body.
			case !test.stored && strings.Contains(answer, "larger than max"):
			// The server's own limit for a request also ends it, where the machine is slow.
			case !test.stored && status == http.StatusGatewayTimeout:
				t.Logf("not judged within the server's limit for a request: %.200s", answer)
			default:
				t.Errorf("%d %.200s", status, answer)
			}
			first := time.Duration(0)
			if !test.stored {
				status, _, err := harness.Request(on, harness.Admin, http.MethodGet, harness.Definitions+"/"+test.name+"s.vast.example.com", "", "")
				if err != nil || status != http.StatusNotFound {
					t.Errorf("the definition is stored: %d %v", status, err)
				}
			} else {
				path := "/apis/vast.example.com/v1/namespaces/default/" + test.name + "s"
				harness.WaitServed(t, on, path)
				start := time.Now()
				status, answer, err := harness.Request(on, harness.Admin, http.MethodPost, path, harness.ContentTypes["json"],
					fmt.Sprintf(`{"apiVersion":"vast.example.com/v1","kind":%q,"metadata":{"name":"x"},"spec":{"g1":{"f1":{"a":"b"}}}}`, test.name))
				first = time.Since(start)
				if err != nil || status != http.StatusCreated {
					t.Errorf("the first object: %d %s %v", status, answer, err)
				}
			}
			stop()
			reader.Wait()
			slices.Sort(others)
			t.Logf("%d bytes: %v to judge, %v for the first object; others waited %v at most, %v in the middle", len(body), took, first, others[len(others)-1], others[len(others)/2])
			if !test.permissions {
				plain[test.bytes] = took
			} else if took > 5*plain[test.bytes]+time.Second {
				t.Errorf("without permissions it took %v", plain[test.bytes])
			}
			if others[len(others)-1] > 20*time.Second {
				t.Error("another request waited more than 20 seconds")
			}
		})
	}
}
