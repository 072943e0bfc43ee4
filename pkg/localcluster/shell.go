// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package localcluster

import (
	"os"
	"path/filepath"
	"strings"
)

// kubectlPath returns the path of the kubectl in the directory of this program, as a user would
// type it, or "kubectl" if there is none.
func kubectlPath() string {
	self, err := os.Executable()
	if err != nil {
		return "kubectl"
	}
	path := filepath.Join(filepath.Dir(self), "kubectl")
	if info, err := os.Stat(path); err != nil || info.IsDir() || info.Mode()&0o111 == 0 {
		return "kubectl"
	}
	path = relativePath(path)
	if !strings.Contains(path, "/") {
		path = "./" + path
	}
	return quote(path)
}

// quote quotes a word for a shell, if necessary.
func quote(word string) string {
	special := func(r rune) bool {
		plain := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:=@%+,", r)
		return !plain
	}
	if word != "" && strings.IndexFunc(word, special) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
