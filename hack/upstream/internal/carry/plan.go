// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package carry

import (
	"context"
	"fmt"
	"path"
	"slices"
	"sort"
	"strings"

	"kube-granular.dev/hack/upstream/internal/generate"
	"kube-granular.dev/hack/upstream/internal/progress"
	"kube-granular.dev/hack/upstream/internal/project"
	"kube-granular.dev/hack/upstream/internal/series"
	"kube-granular.dev/hack/upstream/internal/source"
	"kube-granular.dev/hack/upstream/internal/tree"
)

// plan is the wanted content of the tree.
type plan struct {
	src *source.Source
	// pristine are the SHA-256 sums of upstream's files, by tree path.
	pristine map[string]string
	// want are the sums of all files that the tree must have. The sum of an upstream file that the
	// tree must not have is tree.Gone.
	want map[string]string
	// data is the content of wanted files that differ from upstream's files.
	data map[string]series.Content
	// digests are hashes of the inputs of generators, by the name of the generator. They contain
	// only generators whose input or code the patches change. due are the generators that must
	// run.
	digests map[string]string
	due     []generate.Generator
	// held maps files in the tree that a generator wrote to that generator. No patch and no
	// upstream module has the content of these files.
	held map[string]generate.Generator
}

func (p *plan) pristineSum(file string) string {
	if sum, ok := p.pristine[file]; ok {
		return sum
	}
	return tree.Gone
}

func (p *plan) wanted(file string) string {
	if sum, ok := p.want[file]; ok {
		return sum
	}
	return tree.Gone
}

// makePlan computes the wanted content of the tree.
func makePlan(ctx context.Context, r *revision, src *source.Source, m *tree.Manifest, pristineOnly bool, force []string, log *progress.Log) (*plan, error) {
	p := &plan{src: src, want: map[string]string{}, data: map[string]series.Content{}, held: map[string]generate.Generator{}}
	var err error
	if p.pristine, err = pristineSums(ctx, src, m, log); err != nil {
		return nil, err
	}
	for file, sum := range p.pristine {
		p.want[file] = sum
	}
	changed := map[string][]byte{}
	generatorPatches := ""
	if !pristineOnly {
		all, err := statesOf(r.series, func(s *series.Series) series.Sources { return verified{files{ctx, src, s.Prefix}, p} })
		if err != nil {
			return nil, err
		}
		for i, s := range r.series {
			if err := p.patch(s, all[i]); err != nil {
				return nil, err
			}
			for path, c := range all[i][len(all[i])-1] {
				switch {
				case s.Prefix == project.Kubernetes && !c.Equal(all[i][0][path]):
					changed[path] = c.Data
				case s.Prefix == project.Generators:
					generatorPatches = "patched"
				}
			}
		}
		if generatorPatches != "" {
			generatorPatches = digestState(all[1][len(all[1])-1])
		}
	}
	if err := p.workspaces(src, r.modules); err != nil {
		return nil, err
	}
	in := generate.Inputs{
		Modules: src.Identity(), Patches: generatorPatches, Changed: changed,
		Pristine: func(file string) ([]byte, error) {
			data, _, err := src.Read(ctx, project.Kubernetes+file)
			return data, err
		},
		Siblings: siblings(p.pristine),
	}
	if p.digests, err = in.Plan(generate.Table); err != nil {
		return nil, err
	}
	for _, g := range generate.Table {
		digest, active := p.digests[g.Name]
		if slices.Contains(force, g.Name) {
			if !active {
				if digest, err = in.Digest(g, p.digests); err != nil {
					return nil, err
				}
				p.digests[g.Name] = digest
			}
		} else if !active {
			continue
		}
		last := m.Generators[g.Name]
		if slices.Equal(m.Modules, src.Identity()) { // otherwise the output is for another upstream version
			for _, out := range last.Outputs {
				p.want[out], p.held[out] = m.Files[out].Sum, g
			}
		}
		if last.Inputs != digest || slices.Contains(force, g.Name) {
			p.due = append(p.due, g)
		}
	}
	return p, nil
}

// pristineSums returns the sums of upstream's files, by tree path. If the manifest is for the same
// versions of the modules, it returns the sums in the manifest. If not, it reads every file, and
// verifies the modules.
func pristineSums(ctx context.Context, src *source.Source, m *tree.Manifest, log *progress.Log) (map[string]string, error) {
	sums := map[string]string{}
	if slices.Equal(m.Modules, src.Identity()) {
		for file, e := range m.Files {
			if sum := e.PristineSum(); sum != tree.Gone {
				sums[file] = sum
			}
		}
		return sums, nil
	}
	files, err := src.Index(ctx, log)
	if err != nil {
		return nil, err
	}
	for file, f := range files {
		sums[file] = f.Sum
	}
	return sums, nil
}

// verified reads pristine files. Read fails if the sum of a file differs from the sum in the plan,
// which was compared with go.sum.
type verified struct {
	files
	plan *plan
}

func (v verified) Read(path string) (series.Content, error) {
	content, err := v.files.Read(path)
	if file := v.prefix + path; err == nil && sum(content) != v.plan.pristineSum(file) {
		err = fmt.Errorf("%s: the module cache has changed since it was verified: run go clean -modcache", file)
	}
	return content, err
}

// patch adds the files that a series changes to the plan.
func (p *plan) patch(s *series.Series, states []series.State) error {
	for path, base := range states[0] {
		file := s.Prefix + path
		if g := generate.WrittenBy(path); g != "" && s.Prefix == project.Kubernetes {
			return fmt.Errorf("%s: changes %s, which %s generates: remove that file from the patch", lastTouching(s, path).Name, path, g)
		}
		final := states[len(states)-1][path]
		switch {
		case final.Absent && base.Absent:
			delete(p.want, file)
		case final.Absent:
			p.want[file] = tree.Gone
		default:
			p.want[file], p.data[file] = source.Hash(final.Data), final
		}
	}
	return nil
}

func lastTouching(s *series.Series, path string) *series.Patch {
	for _, p := range slices.Backward(s.Patches) {
		if p.Touches(path) != nil {
			return p
		}
	}
	return nil
}

func siblings(pristine map[string]string) func(dir string) []string {
	var byDir map[string][]string
	return func(dir string) []string {
		if byDir == nil {
			byDir = map[string][]string{}
			for file := range pristine {
				if rel, ok := strings.CutPrefix(file, project.Kubernetes); ok {
					byDir[path.Dir(rel)] = append(byDir[path.Dir(rel)], rel)
				}
			}
		}
		return slices.Clone(byDir[dir])
	}
}

func digestState(state series.State) string {
	paths := make([]string, 0, len(state))
	for path := range state {
		paths = append(paths, path)
	}
	sort.Strings(paths)
	var b strings.Builder
	for _, path := range paths {
		fmt.Fprintf(&b, "%s %v %s\n", path, state[path].Absent, source.Hash(state[path].Data))
	}
	return source.Hash([]byte(b.String()))
}
