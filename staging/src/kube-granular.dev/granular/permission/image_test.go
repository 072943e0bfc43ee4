// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package permission

import (
	"slices"
	"strings"
	"testing"

	"github.com/distribution/reference"
)

func TestImagePrefixes(t *testing.T) {
	digest := "@sha256:" + strings.Repeat("0a", 32)
	for image, want := range map[string]string{
		"registry.example/app":                                "registry.example registry.example/app",
		"registry.example/team/app:v1":                        "registry.example registry.example/team registry.example/team/app",
		"registry.example:5000/team/app":                      "registry.example:5000 registry.example:5000/team registry.example:5000/team/app",
		"localhost/app":                                       "localhost localhost/app",
		"localhost:5000/app:v1" + digest:                      "localhost:5000 localhost:5000/app",
		"registry.example/app" + digest:                       "registry.example registry.example/app",
		"docker.io/library/nginx":                             "docker.io docker.io/library docker.io/library/nginx",
		"registry.example/a/b/c/d/e/f/g/h/i":                  "registry.example registry.example/a registry.example/a/b registry.example/a/b/c registry.example/a/b/c/d registry.example/a/b/c/d/e registry.example/a/b/c/d/e/f registry.example/a/b/c/d/e/f/g",
		"registry.example/a.b_c__d---e/f":                     "registry.example registry.example/a.b_c__d---e registry.example/a.b_c__d---e/f",
		"":                                                    "",
		"nginx":                                               "",
		"nginx:1.25":                                          "",
		"team/app":                                            "",
		"docker.io/nginx":                                     "",
		"docker.io/nginx:1.25":                                "",
		"index.docker.io/library/nginx":                       "",
		"Registry.example/app":                                "",
		"registry.example/App":                                "",
		"registry.example/":                                   "",
		"registry.example//app":                               "",
		"registry.example/team/":                              "",
		"registry.example/team/../other/app":                  "",
		"registry.example/./app":                              "",
		"registry.example/app:":                               "",
		"registry.example/app:-v1":                            "",
		"registry.example/app:v1:v2":                          "",
		"registry.example/app@sha256:0a":                      "",
		"registry.example/app@md5:" + digest[8:]:              "",
		"registry.example/app@md5:":                           "",
		"registry.example/app" + digest + digest:              "",
		"registry.example:/app":                               "",
		"registry.example:a/app":                              "",
		"registry..example/app":                               "",
		"-registry.example/app":                               "",
		".registry.example/app":                               "",
		"[::1]:5000/app":                                      "",
		"https://registry.example/app":                        "",
		" registry.example/app":                               "",
		"registry.example/app ":                               "",
		"registry.example/team%2Fapp":                         "",
		"registry.example/a___b":                              "",
		"registry.example/a-":                                 "",
		"registry.example/a..b":                               "",
		"registry.example/tëam/app":                           "",
		"registry.example/" + strings.Repeat("a", 240):        "",
		"registry.example/app:" + strings.Repeat("a", 129):    "",
		"registry.example@sha256:" + digest[8:] + "/team/app": "",
	} {
		if got := strings.Join(ImageRepositoryPrefix.Parameters(image), " "); got != want {
			t.Errorf("%q: got %q, want %q", image, got, want)
		}
	}
}

// FuzzImagePrefixes compares with the parser that Kubernetes and container runtimes use. If an
// image has prefixes, the parser accepts it, with the same registry and repository.
func FuzzImagePrefixes(f *testing.F) {
	for _, seed := range []string{"registry.example/team/app:v1", "localhost:5000/a__b/c-d", "docker.io/library/nginx", "nginx"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, image string) {
		got := imagePrefixes(image)
		if len(got) == 0 {
			return
		}
		named, err := reference.ParseNormalizedNamed(image)
		if err != nil {
			t.Fatalf("%q has prefixes and is no image: %v", image, err)
		}
		repository := reference.Domain(named) + "/" + reference.Path(named)
		if last := got[len(got)-1]; last != repository && (len(got) < MaxPrefixes || !strings.HasPrefix(repository, last+"/")) {
			t.Errorf("%q: the last prefix is %q, the repository %q", image, last, repository)
		}
		if got[0] != reference.Domain(named) {
			t.Errorf("%q: the first prefix is %q, the registry %q", image, got[0], reference.Domain(named))
		}
		if !slices.IsSortedFunc(got, func(a, b string) int { return len(a) - len(b) }) || len(got) > MaxPrefixes {
			t.Errorf("%q: the prefixes are %q", image, got)
		}
		for _, prefix := range got {
			if !strings.HasPrefix(image, prefix) || CheckParameter(prefix) != nil {
				t.Errorf("%q: prefix %q", image, prefix)
			}
			v := Verb{Permission: "imageFrom", Parameter: prefix, Parameterized: true}
			if back, err := Parse(v.String()); err != nil || back != v {
				t.Errorf("%q: %s is read as %v, %v", image, v, back, err)
			}
		}
	})
}
