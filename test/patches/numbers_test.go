// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package patches

import (
	"reflect"
	"strconv"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsv1beta1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
)

const (
	// firstNumber and lastNumber are those of our fields. No number above has a tag of
	// two bytes.
	firstNumber, lastNumber = 2041, 2047
	// distance is how far upstream's must stay away. Less is a reason to look for others.
	distance = 1000
)

// TestFieldNumbers holds that our fields of a definition's schema have the same numbers in
// both versions and for ever, and that upstream's are far from them.
func TestFieldNumbers(t *testing.T) {
	wanted := map[string]int{}
	for i, name := range []string{"Verb", "Excluded", "ParameterSource", "ParameterizedBy", "ParameterTreatment", "ParameterExpression", "Scope"} {
		wanted["XPermission"+name] = firstNumber + i
	}
	for version, props := range map[string]reflect.Type{
		"v1":      reflect.TypeFor[apiextensionsv1.JSONSchemaProps](),
		"v1beta1": reflect.TypeFor[apiextensionsv1beta1.JSONSchemaProps](),
	} {
		ours, theirs := 0, 0
		for field := range fields(props) {
			parts := strings.Split(field.Tag.Get("protobuf"), ",")
			if len(parts) < 2 {
				t.Errorf("%s: %s has no number", version, field.Name)
				continue
			}
			number, err := strconv.Atoi(parts[1])
			if err != nil {
				t.Errorf("%s: %s: %v", version, field.Name, err)
			}
			if want, ok := wanted[field.Name]; ok {
				if ours++; number != want {
					t.Errorf("%s: %s has number %d, wanted %d: others read it as another field", version, field.Name, number, want)
				}
				continue
			}
			if theirs++; number > firstNumber-distance && number < lastNumber+distance {
				t.Errorf("%s: upstream's %s has number %d, near ours", version, field.Name, number)
			}
		}
		if ours != lastNumber-firstNumber+1 || theirs < 40 {
			t.Errorf("%s: %d fields are ours, %d upstream's", version, ours, theirs)
		}
	}
}

// fields are those of a struct.
func fields(of reflect.Type) func(yield func(reflect.StructField) bool) {
	return func(yield func(reflect.StructField) bool) {
		for i := range of.NumField() {
			if !yield(of.Field(i)) {
				return
			}
		}
	}
}
