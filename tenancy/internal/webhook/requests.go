// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"strings"

	certificatesv1 "k8s.io/api/certificates/v1"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"kube-granular.dev/tenancy/internal/names"
)

// Requests is the webhook that validates certificate signing requests. It checks them when they
// are created and again when they are approved, because a certificate signing request that was
// created before the webhook was installed has not been checked yet.
type Requests struct{}

// Handle refuses a certificate signing request whose common name or organizations have the prefix
// that is reserved for impersonation. If a user authenticates by a client certificate, an API
// server takes the common name as the user name, and the organizations as the groups.
func (Requests) Handle(_ context.Context, req admission.Request) admission.Response {
	request := certificatesv1.CertificateSigningRequest{}
	if err := json.Unmarshal(req.Object.Raw, &request); err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	block, rest := pem.Decode(request.Spec.Request)
	if block == nil || len(bytes.TrimSpace(rest)) > 0 {
		return admission.Denied("spec.request must hold one PEM block and nothing else")
	}
	csr, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		return admission.Denied("spec.request can't be read")
	}
	for _, name := range append(csr.Subject.Organization, csr.Subject.CommonName) {
		if strings.HasPrefix(name, names.Prefix) {
			return admission.Denied(fmt.Sprintf("spec.request: names that begin with %s are reserved for impersonation, and no certificate may have one", names.Prefix))
		}
	}
	return admission.Allowed("")
}
