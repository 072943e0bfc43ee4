// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package crd

import (
	"fmt"
	"strings"
	"testing"

	"kube-granular.dev/granular/schema"
)

// vast returns a schema of about the given number of bytes, in which every group of fields has an
// excluded permission.
func vast(bytes int) string {
	var b strings.Builder
	b.WriteString(`{"type":"object","properties":{"spec":{"type":"object","properties":{`)
	for g := 0; b.Len() < bytes; g++ {
		if g > 0 {
			b.WriteString(",")
		}
		fmt.Fprintf(&b, `"g%d":{"type":"object","x-kubernetes-permission-verb":"example.com/g%d","x-kubernetes-permission-excluded":true,"properties":{`, g, g)
		for f := range 60 {
			if f > 0 {
				b.WriteString(",")
			}
			fmt.Fprintf(&b, `"f%d":{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"array","items":{"type":"integer"}}}}`, f)
		}
		b.WriteString("}}")
	}
	b.WriteString("}}}}")
	return b.String()
}

func BenchmarkValidateVast(b *testing.B) {
	crd := definition(b, nil, vast(3_000_000))
	v := validator()
	for b.Loop() {
		if errs := v.Validate(crd, nil); len(errs) > 0 {
			b.Fatal(errs)
		}
	}
}

func BenchmarkWarningsVast(b *testing.B) {
	crd := definition(b, nil, vast(3_000_000))
	v := validator()
	for b.Loop() {
		v.Warnings(crd, nil)
	}
}

func BenchmarkCompileVast(b *testing.B) {
	models := served(b, definition(b, nil, vast(900_000)))
	for b.Loop() {
		if _, err := schema.NewModels(models).ByKind(thing); err != nil {
			b.Fatal(err)
		}
	}
}
