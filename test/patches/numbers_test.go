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
	// firstNumber and lastNumber are the protobuf numbers of our first and last field. 2047 is
	// the highest number whose tag takes only two bytes.
	firstNumber, lastNumber = 2041, 2047
	// distance is the smallest allowed distance from the numbers of upstream's fields. If
	// upstream comes closer, consider other numbers.
	distance = 1000
)

// TestFieldNumbers checks that our fields in the schema of a definition have the same protobuf
// numbers in v1 and v1beta1, that these never change, and that the numbers of upstream's fields
// are far away.
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

// fields iterates over the fields of a struct type.
func fields(of reflect.Type) func(yield func(reflect.StructField) bool) {
	return func(yield func(reflect.StructField) bool) {
		for i := range of.NumField() {
			if !yield(of.Field(i)) {
				return
			}
		}
	}
}
