// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package generate

import (
	"context"
	"regexp"
	"strings"
)

// compatibilityFixtures returns the table entry for the fixtures of a compatibility test: objects
// in every encoding that new versions of an API must still read. Some fixtures are binary, and a
// patch may not contain binary files, so they are generated. The test that reads the fixtures also
// writes them.
func compatibilityFixtures(module, pkg string, apis ...string) Generator {
	dir := "staging/src/k8s.io/" + module + "/"
	fixtures := dir + pkg + "/testdata/HEAD/"
	var inputs []string
	for _, api := range apis {
		inputs = append(inputs, dir+api+"/")
	}
	return Generator{
		Name: "compatibility-fixtures/" + module, Version: 1,
		Tag: regexp.MustCompile(`\+groupName=`), Under: inputs,
		Sees:   codeAndTags,
		Output: func(file string) bool { return strings.HasPrefix(file, fixtures) },
		Clear:  func(string) bool { return false },
		run: func(ctx context.Context, e Env, _ []string) error {
			test := []string{"go", "test", "-run", "^TestCompatibility$", "k8s.io/" + module + "/" + pkg}
			// The test fails if it has written something. It must pass when it runs again.
			if _, err := e.exec(ctx, "env", append([]string{"UPDATE_COMPATIBILITY_FIXTURE_DATA=true"}, test...)...); err == nil {
				return nil
			}
			_, err := e.exec(ctx, test[0], test[1:]...)
			return err
		},
	}
}
