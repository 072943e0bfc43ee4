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
	if err := s.apply(ctx, r); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	patches, trees := r.part(0)
	for i, p := range patches {
		mail := p.Raw
		if p.Markers != nil {
			if mail, err = s.text(ctx, p, trees[i], trees[i+1]); err != nil {
				return err
			}
		}
		if err := os.WriteFile(filepath.Join(dir, mailName(i, p)), mail, 0o644); err != nil {
			return err
		}
	}
	fmt.Fprintf(c.Out, "%d patches for git am at tag %s\n", len(patches), r.pins.Version)
	return nil
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
func (c *Carry) Review(ctx context.Context, against string) error {
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
	if err == nil {
		err = s.apply(ctx, old)
	}
	if err != nil {
		return fmt.Errorf("at %s: %w", against, err)
	}
	now, err := c.load(c.Project.Read)
	if err != nil {
		return err
	}
	if err := s.apply(ctx, now); err != nil {
		return err
	}
	same := true
	for i, one := range now.series {
		before, trees := old.part(i)
		patches, results := now.part(i)
		if old.pins.Identity() == now.pins.Identity() && slices.EqualFunc(before, patches, func(a, b *series.Patch) bool {
			return a.Name == b.Name && string(a.Raw) == string(b.Raw)
		}) {
			continue
		}
		same = false
		if len(before) == 0 || len(patches) == 0 { // git does not accept an empty range
			for _, p := range before {
				fmt.Fprintf(c.Out, "%s: removed since %s: %s\n", p.Name, against, p.Header.Subject)
			}
			for _, p := range patches {
				fmt.Fprintf(c.Out, "%s: added since %s: %s\n", p.Name, against, p.Header.Subject)
			}
			continue
		}
		first, err := s.commits(ctx, before, trees)
		if err != nil {
			return err
		}
		second, err := s.commits(ctx, patches, results)
		if err != nil {
			return err
		}
		out, err := s.repo.Git(ctx, "range-diff", "--no-color", first, second)
		if err != nil {
			return err
		}
		fmt.Fprintf(c.Out, "%s: %s against the working tree (%d and %d patches)\n%s\n", one.Dir, against, len(before), len(patches), out)
	}
	if same {
		fmt.Fprintf(c.Out, "no patch differs from %s\n", against)
	}
	return nil
}

// commits makes one commit for each patch, and returns their range in the form FIRST..LAST.
func (s *session) commits(ctx context.Context, patches []*series.Patch, trees []string) (string, error) {
	first, err := s.repo.Commit(ctx, trees[0], "pristine\n")
	if err != nil {
		return "", err
	}
	last := first
	for i, p := range patches {
		if last, err = s.repo.Commit(ctx, trees[i+1], p.Header.Message(), last); err != nil {
			return "", err
		}
	}
	return first + ".." + last, nil
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
