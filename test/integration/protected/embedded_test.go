// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package protected

import (
	"strings"
	"testing"

	"kube-granular.dev/test/integration/harness"
)

// TestDeepRevisions checks a small body whose labels are so deep and so many that their paths
// would take gigabytes. The server compares them with memory in proportion to the body.
//
// Attack: a ControllerRevision with thousands of labels, each below thousands of fields
// Answer: 403, which names the limit; 201 if none of them has a protected key
func TestDeepRevisions(t *testing.T) {
	withPeople(t)
	const ns, depth, objects = "deep", 9000, 4000
	namespace(t, ns)
	protect(t, "deep-env", envLabel)
	body := func(label string) string {
		one := `{"metadata":{"labels":{` + label + `}}},`
		return `{"apiVersion":"apps/v1","kind":"ControllerRevision","metadata":{"name":"deep"},"revision":1,"data":` +
			strings.Repeat(`{"a":`, depth) + "[" + strings.TrimSuffix(strings.Repeat(one, objects), ",") + "]" + strings.Repeat("}", depth) + `}`
	}
	path := where("apps/controllerrevisions", ns) + "?dryRun=All"
	allocated := func() float64 {
		return harness.Metric(t, must(t, "GET", "/metrics", "", ""), "go_memstats_alloc_bytes_total")
	}
	before := allocated()
	refused(t, send(t, "other", "POST", path, "", body(`"env":"prod"`)), "cannot change .data in namespace \\\"deep\\\", a protected label: more than 1000 labels")
	granted(t, send(t, "other", "POST", path, "", body(`"a":"b"`)))
	if used := allocated() - before; used > 1<<30 {
		t.Errorf("the server allocated %.0f bytes", used)
	}
}
