// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package localcluster

import (
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
)

//go:embed audit-policy.yaml
var auditPolicy []byte

// writeAuditPolicy writes the audit policy into dir and returns its path.
func writeAuditPolicy(dir string) (string, error) {
	path := filepath.Join(dir, "audit-policy.yaml")
	if err := os.WriteFile(path, auditPolicy, 0o600); err != nil {
		return "", fmt.Errorf("write the audit policy: %w", err)
	}
	return path, nil
}
