// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package carry

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"kube-granular.dev/hack/upstream/internal/gitrepo"
	"kube-granular.dev/hack/upstream/internal/series"
)

// Export writes the series against Kubernetes into a folder, as numbered mail patches that
// git am applies in order. A file of markers becomes a patch of comments. The folder must be
// empty, or must not exist.
func (c *Carry) Export(ctx context.Context, dir string) (err error) {
	if !filepath.IsAbs(dir) {
		dir = c.Project.Path(dir)
	}
	entries, err := os.ReadDir(dir)
	if err == nil && len(entries) > 0 {
		return fmt.Errorf("%s: is not empty", dir)
	}
	r, err := c.load(c.Project.Read)
	if err != nil {
		return err
	}
	src, _, err := open(ctx, r.pins)
	if err != nil {
		return err
	}
	s := r.series[0]
	st, err := s.Apply(pristine(ctx, src, s))
	if err != nil {
		return err
	}
	repo, err := gitrepo.New(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, repo.Close()) }()
	all, err := mails(ctx, repo, s, st)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for i, mail := range all {
		if err := os.WriteFile(filepath.Join(dir, mailName(i, s.Patches[i])), mail, 0o644); err != nil {
			return err
		}
	}
	fmt.Fprintf(c.Out, "%d patches for git am at tag %s\n", len(all), r.pins.Version)
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

// mails returns the mail patches of a series, in order. For a file of markers, it makes a mail
// patch that adds the comments of that file.
func mails(ctx context.Context, repo *gitrepo.Repo, s *series.Series, st []series.State) ([][]byte, error) {
	var all [][]byte
	for i, p := range s.Patches {
		mail := p.Raw
		if p.Markers != nil {
			var err error
			if mail, err = renderPatch(ctx, repo, p, st[i], st[i+1]); err != nil {
				return nil, err
			}
		}
		all = append(all, mail)
	}
	return all, nil
}
