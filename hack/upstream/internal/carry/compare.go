// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package carry

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"kube-granular.dev/hack/upstream/internal/series"
)

// Export writes the series against Kubernetes into a folder, as numbered mail patches that git am applies in
// order. A file of markers becomes a patch of comments. The folder must be empty, or must not exist.
func (c *Carry) Export(ctx context.Context, dir string) error {
	if !filepath.IsAbs(dir) {
		dir = c.Project.Path(dir)
	}
	if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
		return fmt.Errorf("%s: is not empty", dir)
	}
	s, err := c.begin(ctx)
	if err != nil {
		return err
	}
	defer s.end()
	r, err := c.load(c.Project.Read)
	if err != nil {
		return err
	}
	one, states, err := s.at(ctx, r)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for i, p := range one[0].Patches {
		mail := p.Raw
		if p.Markers != nil {
			if mail, err = s.text(ctx, one[0], p, states[0][i], states[0][i+1]); err != nil {
				return err
			}
		}
		if err := os.WriteFile(filepath.Join(dir, mailName(i, p)), mail, 0o644); err != nil {
			return err
		}
	}
	fmt.Fprintf(c.Out, "%d patches for git am at tag %s\n", len(one[0].Patches), r.pins.Version)
	return nil
}

// at applies the series of a revision to the upstream version of that revision.
func (s *session) at(ctx context.Context, r *revision) ([]*series.Series, [][]string, error) {
	_, pristine, err := s.upstream(ctx, r.pins)
	if err != nil {
		return nil, nil, err
	}
	states, err := s.states(ctx, r.series, pristine)
	return r.series, states, err
}

// mailName returns the file name of an exported patch, such as 0013-markers-names.patch.
func mailName(i int, p *series.Patch) string {
	base := path.Base(p.Name)
	name := strings.TrimSuffix(base[len("0000-"):], path.Ext(base))
	if folder := path.Dir(p.Name); folder != "patches" {
		name = path.Base(folder) + "-" + name
	}
	return fmt.Sprintf("%04d-%s.patch", i+1, name)
}

// Review prints the range-diff between the series at another revision of the project and the series in the
// working tree.
func (c *Carry) Review(ctx context.Context, against string, color bool) error {
	s, err := c.begin(ctx)
	if err != nil {
		return err
	}
	defer s.end()
	read, err := Revision(ctx, c.Project.Root, against)
	if err != nil {
		return err
	}
	old, err := c.load(read)
	if err != nil {
		return fmt.Errorf("at %s: %w", against, err)
	}
	now, err := c.load(c.Project.Read)
	if err != nil {
		return err
	}
	oldSeries, before, err := s.at(ctx, old)
	if err != nil {
		return fmt.Errorf("at %s: %w", against, err)
	}
	newSeries, after, err := s.at(ctx, now)
	if err != nil {
		return err
	}
	same := true
	for i := range newSeries {
		if old.pins.Identity() == now.pins.Identity() && slices.EqualFunc(oldSeries[i].Patches, newSeries[i].Patches, func(a, b *series.Patch) bool {
			return a.Name == b.Name && string(a.Raw) == string(b.Raw)
		}) {
			continue
		}
		same = false
		if err := s.compare(ctx, against, oldSeries[i], newSeries[i], before[i], after[i], color); err != nil {
			return err
		}
	}
	if same {
		fmt.Fprintf(c.Out, "no patch differs from %s\n", against)
	}
	return nil
}

func (s *session) compare(ctx context.Context, against string, old, now *series.Series, before, after []string, color bool) error {
	if len(old.Patches) == 0 || len(now.Patches) == 0 { // git does not accept an empty range
		for _, p := range old.Patches {
			fmt.Fprintf(s.Out, "%s: removed since %s: %s\n", p.Name, against, p.Header.Subject)
		}
		for _, p := range now.Patches {
			fmt.Fprintf(s.Out, "%s: added since %s: %s\n", p.Name, against, p.Header.Subject)
		}
		return nil
	}
	args := []string{"range-diff", "--no-color"}
	if color {
		args[1] = "--color"
	}
	for _, side := range []struct {
		series *series.Series
		trees  []string
	}{{old, before}, {now, after}} {
		var messages []string
		for _, p := range side.series.Patches {
			messages = append(messages, p.Header.Message())
		}
		commits, err := s.repo.Commits(ctx, side.trees, messages)
		if err != nil {
			return err
		}
		args = append(args, commits)
	}
	out, err := s.repo.Git(ctx, args...)
	fmt.Fprintf(s.Out, "%s: %s against the working tree (%d and %d patches)\n%s\n", now.Dir, against, len(old.Patches), len(now.Patches), out)
	return err
}

// Revision returns a function that reads files at a revision of the project's own repository: go.mod, go.sum and
// the files in patches. For every other path, the function returns fs.ErrNotExist. Revision fails if the
// revision does not exist.
func Revision(ctx context.Context, root, rev string) (series.Reader, error) {
	own := func(args ...string) ([]byte, error) {
		out, err := exec.CommandContext(ctx, "git", append([]string{"-C", root}, args...)...).Output()
		if err != nil {
			err = fmt.Errorf("git %s in %s: %w", args[0], root, err)
		}
		return out, err
	}
	commit, err := own("rev-parse", "--verify", "--quiet", "--end-of-options", rev+"^{commit}")
	if err != nil {
		return nil, fmt.Errorf("%s is not a revision of the repository at %s", rev, root)
	}
	head := strings.TrimSpace(string(commit))
	listed, err := own("ls-tree", "-r", "-z", "--name-only", head, "--", "go.mod", "go.sum", "patches")
	exists := strings.Split(string(listed), "\x00")
	return func(tree string) ([]byte, error) {
		if !slices.Contains(exists, tree) {
			return nil, fmt.Errorf("%s at %s: %w", tree, rev, fs.ErrNotExist)
		}
		return own("cat-file", "blob", head+":./"+tree)
	}, err
}
