// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"encoding/json"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/managedfields/managedfieldstest"
)

// TestFieldManagementAgrees compares tampered with upstream's field management. If the managed
// fields that a caller sends change the managed fields in the result, tampered must report that,
// whether or not the object changes too. If they change nothing, tampered may report only the
// lists in strict.
func TestFieldManagementAgrees(t *testing.T) {
	kind := corev1.SchemeGroupVersion.WithKind("ConfigMap")
	manager := managedfieldstest.NewFakeFieldManager(managedfields.NewDeducedTypeConverter(), kind)
	const (
		owner  = `{"manager":"owner","operation":"Apply","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:data":{"f:a":{},"f:b":{}}}}`
		other  = `{"manager":"other","operation":"Update","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:data":{"f:c":{}}}}`
		less   = `{"manager":"owner","operation":"Apply","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:data":{"f:a":{}}}}`
		spaces = `{"manager":"owner","operation":"Apply","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{ "f:data": {"f:b": {}, "f:a": {}} }}`
		broken = `{"manager":"owner","operation":"Apply","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:data":{"z:a":{}}}}`
	)
	text := func(managed, value, uid string) string {
		return fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"t","uid":%q,"managedFields":%s},"data":{"a":"1","b":"2","c":%q}}`, uid, managed, value)
	}
	makers := map[string]func(managed, value, uid string) runtime.Object{
		"a Go type": func(managed, value, uid string) runtime.Object {
			out := &corev1.ConfigMap{}
			if err := json.Unmarshal([]byte(text(managed, value, uid)), out); err != nil {
				t.Fatal(err)
			}
			return out
		},
		"a custom resource": func(managed, value, uid string) runtime.Object {
			out := &unstructured.Unstructured{}
			if err := json.Unmarshal([]byte(text(managed, value, uid)), &out.Object); err != nil {
				t.Fatal(err)
			}
			return out
		},
	}
	left := func(live, sent runtime.Object) string {
		out, err := manager.Update(live, sent, "caller")
		if err != nil {
			t.Fatal(err)
		}
		accessor, err := meta.Accessor(out)
		if err != nil {
			t.Fatal(err)
		}
		fields := accessor.GetManagedFields()

		for i := range fields {
			fields[i].Time = nil
		}
		data, err := json.Marshal(fields)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	// strict names the lists that tampered reports although field management leaves the same
	// result with and without them: lists that can't be read, or that have the stored entries in
	// another form or order.
	strict := map[string]bool{"that is broken": true, "in another order": true, "with an entry twice": true,
		"of empty entries": true, "without an operation": true}
	differed := 0
	for name, sent := range map[string]string{
		"that is null": `null`, "that is empty": `[]`, "of an empty entry": `[{}]`, "of empty entries": `[{},{}]`,
		"that is the same": `[` + owner + `,` + other + `]`, "with spaces": `[` + spaces + `,` + other + `]`, "in another order": `[` + other + `,` + owner + `]`,
		"without an entry": `[` + other + `]`, "without a field": `[` + less + `,` + other + `]`, "with an entry twice": `[` + owner + `,` + other + `,` + owner + `]`,
		"that is broken": `[` + broken + `,` + other + `]`, "without an operation": `[{"manager":"owner","apiVersion":"v1"}]`,
	} {
		for held, maker := range makers {
			for _, live := range []struct{ managed, uid string }{{`[` + owner + `,` + other + `]`, "1"}, {`null`, "1"}, {`null`, ""}} {
				for _, value := range []string{"3", "4"} {
					is := maker(live.managed, "3", live.uid)
					noticed := tampered(maker(sent, value, live.uid), is)
					got, want := left(is, maker(sent, value, live.uid)), left(is, maker(`null`, value, live.uid))
					if got != want {
						differed++
					}
					if got != want && !noticed {
						t.Errorf("a list %s, of %s, c becomes %s: not noticed\nfield management leaves %s\nand without it         %s", name, held, value, got, want)
					}
					if got == want && noticed && live.managed != "null" && !strict[name] {
						t.Errorf("a list %s, of %s, c becomes %s: noticed, and it makes no difference", name, held, value)
					}
				}
			}
		}
	}
	if differed < 40 {
		t.Errorf("%d lists made a difference, the cases are lopsided", differed)
	}
}
