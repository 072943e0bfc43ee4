// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// test is one conformance test.
type test struct {
	// Name is what ginkgo's expressions select by.
	Name string `json:"codename"`
	// File is the file of the test, below the tree of Kubernetes.
	File string `json:"file"`
}

// run is a command that runs some of the tests: those whose names match focus and not skip.
type run struct {
	command     string
	focus, skip *regexp.Regexp
}

func (r run) has(name string) bool { return r.focus.MatchString(name) && !r.skip.MatchString(name) }

// tests returns all conformance tests, sorted by name.
func tests(root string) ([]test, error) {
	data, err := os.ReadFile(filepath.Join(root, tree, "test", "conformance", "testdata", "conformance.yaml"))
	if err != nil {
		return nil, err
	}
	var all []test
	if err := yaml.Unmarshal(data, &all); err != nil {
		return nil, err
	}
	for i := range all {
		all[i].Name = strings.Join(strings.Fields(all[i].Name), " ")
	}
	slices.SortFunc(all, func(a, b test) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}

// runs returns what the targets of the Makefile run.
func runs(root string) ([]run, error) {
	var out []run
	for _, r := range [][]string{{"make test-kind-e2e"}, {"make test-kind-closed", "controllers"}} {
		cmd := exec.Command(filepath.Join(root, "hack", "kind", "e2e"), append([]string{"expressions"}, r[1:]...)...)
		for _, v := range os.Environ() {
			if !strings.HasPrefix(v, "E2E_") {
				cmd.Env = append(cmd.Env, v)
			}
		}
		text, err := cmd.Output()
		if err != nil {
			return nil, fmt.Errorf("hack/kind/e2e: %w", err)
		}
		lines := strings.Split(string(text), "\n")
		if len(lines) < 2 {
			return nil, fmt.Errorf("hack/kind/e2e prints no expressions: %s", text)
		}
		focus, err := regexp.Compile(lines[0])
		if err != nil {
			return nil, err
		}
		skip, err := regexp.Compile(lines[1])
		if err != nil {
			return nil, err
		}
		out = append(out, run{r[0], focus, skip})
	}
	return out, nil
}

// imageName matches the name of an image in a test.
var imageName = regexp.MustCompile(`\bimageutils\.GetE2EImage\(imageutils\.(\w+)\)`)

// stands are the images that hack/kind/e2e may build, by the name in a test, with the text that the script then has.
// The pause image is on each node.
var stands = map[string]string{"Agnhost": "(image agnhost)", "BusyBox": "(image busybox)", "APIServer": "(image sample-apiserver)",
	"Nginx": "grep /nginx:"}

// built returns the images that the tests find.
func built(root string) ([]string, error) {
	script, err := os.ReadFile(filepath.Join(root, "hack", "kind", "e2e"))
	if err != nil {
		return nil, err
	}
	out := []string{"Pause"}
	for name, text := range stands {
		if strings.Contains(string(script), text) {
			out = append(out, name)
		}
	}
	return out, nil
}

// images returns the images of a file that are not built here.
func images(root, file string) ([]string, error) {
	known, err := built(root)
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(filepath.Join(root, tree, filepath.FromSlash(file)))
	if err != nil {
		return nil, err
	}
	var out []string
	for _, found := range imageName.FindAllStringSubmatch(string(data), -1) {
		if !slices.Contains(known, found[1]) && !slices.Contains(out, found[1]) {
			out = append(out, found[1])
		}
	}
	slices.Sort(out)
	return out, nil
}
