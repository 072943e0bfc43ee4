// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package carry

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"kube-granular.dev/hack/upstream/internal/gitrepo"
	"kube-granular.dev/hack/upstream/internal/series"
	"kube-granular.dev/hack/upstream/internal/source"
)

// Review prints the range-diff between the series at another revision of the
// project and the series in the working tree.
func (c *Carry) Review(ctx context.Context, against string, color bool) error {
	read, err := gitrepo.Revision(ctx, c.Project.Root, against)
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
	oldSrc, _, err := open(ctx, old.pins)
	if err != nil {
		return fmt.Errorf("at %s: %w", against, err)
	}
	nowSrc := oldSrc
	if old.pins.Identity() != now.pins.Identity() {
		if nowSrc, _, err = open(ctx, now.pins); err != nil {
			return err
		}
	}
	same := true
	for i := range now.series {
		if old.digestOf(i) == now.digestOf(i) && nowSrc == oldSrc {
			continue
		}
		same = false
		if err := c.rangeDiff(ctx, against, old.series[i], now.series[i], oldSrc, nowSrc, color); err != nil {
			return err
		}
	}
	if same {
		fmt.Fprintf(c.Out, "no patch differs from %s\n", against)
	}
	return nil
}

func (r *revision) digestOf(i int) string {
	var b strings.Builder
	for _, p := range r.series[i].Patches {
		b.WriteString(p.Name + "\n" + source.Hash(p.Raw) + "\n")
	}
	return b.String()
}

func (c *Carry) rangeDiff(ctx context.Context, against string, old, now *series.Series, oldSrc, nowSrc *source.Source, color bool) (err error) {
	if len(old.Patches) == 0 || len(now.Patches) == 0 {
		// git does not accept an empty range, and there is nothing to compare.
		for _, p := range old.Patches {
			fmt.Fprintf(c.Out, "%s: removed since %s: %s\n", p.Name, against, p.Header.Subject)
		}
		for _, p := range now.Patches {
			fmt.Fprintf(c.Out, "%s: added since %s: %s\n", p.Name, against, p.Header.Subject)
		}
		return nil
	}
	repo, err := gitrepo.New(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, repo.Close()) }()
	a, err := branch(ctx, repo, "old", old, oldSrc)
	if err != nil {
		return fmt.Errorf("at %s: %w", against, err)
	}
	b, err := branch(ctx, repo, "now", now, nowSrc)
	if err != nil {
		return err
	}
	out, err := repo.RangeDiff(ctx, color, a, b)
	if err != nil {
		return err
	}
	fmt.Fprintf(c.Out, "%s: %s against the working tree (%d and %d patches)\n%s", now.Dir, against, len(old.Patches), len(now.Patches), out)
	return nil
}

// branch commits a series on a new branch, one commit for each patch, and returns the range of
// these commits in the form FROM..TO.
func branch(ctx context.Context, repo *gitrepo.Repo, name string, s *series.Series, src *source.Source) (string, error) {
	st, err := s.Apply(pristine(ctx, src, s))
	if err != nil {
		return "", err
	}
	commits, err := commit(ctx, repo, name, s, st)
	if err != nil {
		return "", err
	}
	return commits[0] + ".." + commits[len(commits)-1], nil
}

// commit makes a new branch with a commit for each state: first the pristine state, and then the
// state after each patch. It returns the IDs of the commits in this order.
func commit(ctx context.Context, repo *gitrepo.Repo, name string, s *series.Series, st []series.State) ([]string, error) {
	if err := repo.Orphan(ctx, name); err != nil {
		return nil, err
	}
	var commits []string
	for i, state := range st {
		message := "pristine\n"
		if i > 0 {
			message = s.Patches[i-1].Header.Message()
		}
		id, err := repo.Commit(ctx, state, message)
		if err != nil {
			return nil, err
		}
		commits = append(commits, id)
	}
	return commits, nil
}
