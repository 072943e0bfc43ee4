// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestPictures writes the pictures of docs/pictures, if PICTURES names a folder. They are looked at, and
// never compared: fonts differ from machine to machine.
func TestPictures(t *testing.T) {
	folder := os.Getenv("PICTURES")
	if folder == "" {
		t.Skip("PICTURES names no folder")
	}
	for name, p := range map[string]struct {
		hash          string
		width, height int64
	}{
		"ui-fields":  {"#/fields/apps/Deployment/spec.replicas?ns=shop", 1280, 640},
		"ui-people":  {"#/people?ns=shop", 1280, 640},
		"ui-denials": {"#/denials/d1", 1280, 640},
		"ui-tenants": {"#/tenants/books", 1280, 640},
		"ui-420":     {"#/fields/apps/Deployment/spec.replicas?ns=shop", 420, 800},
	} {
		page := serve(t, sample(t), p.hash, nil)
		page.size(p.width, p.height)
		page.until("document.querySelector('.list .row') !== null")
		shot, err := chromedp.Run(page.ctx, chromedp.CaptureScreenshot())
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, name+".png"), shot, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
