// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"kube-granular.dev/tenancy/internal/accounts"
	"kube-granular.dev/tenancy/internal/names"
)

// Default is the webhook that sets spec.billing.account, the account that pays, of a new
// LNamespace if this field is empty or blank.
type Default struct {
	// Client sends requests to the API server. It has no cache.
	Client client.Client
	// Accounts returns the mapping of users and groups to accounts. It is called for each request
	// that needs the mapping, so that a change of the mapping takes effect at once.
	Accounts func() (accounts.Mapping, error)
}

// Handle returns JSON patches that set spec.billing.account to the account of the user who creates
// the LNamespace. It refuses the request if the user must choose between several accounts, or if
// the user has no account and the mapping requires one. An LNamespace that its creator allows by the annotation, as an
// administrator, keeps having no account: the administrator creates it for others.
func (d *Default) Handle(ctx context.Context, req admission.Request) admission.Response {
	object := unstructured.Unstructured{}
	if err := json.Unmarshal(req.Object.Raw, &object.Object); err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	account, _, err := unstructured.NestedString(object.Object, "spec", "billing", "account")
	if err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	if !accounts.Blank(account) {
		return admission.Allowed("")
	}
	if value, _, _ := unstructured.NestedString(object.Object, "metadata", "annotations", names.Allowed); value == "true" {
		if allows, err := mayAllow(ctx, d.Client, req.UserInfo); err != nil {
			return admission.Errored(http.StatusInternalServerError, err)
		} else if allows {
			return admission.Allowed("")
		}
	}
	mapping, err := d.Accounts()
	if err != nil {
		return admission.Errored(http.StatusInternalServerError, err)
	}
	account, err = mapping.Default(req.UserInfo.Username, req.UserInfo.Groups)
	if err != nil {
		return admission.Denied(err.Error())
	}
	if account == "" {
		return admission.Allowed("")
	}
	if err := unstructured.SetNestedField(object.Object, account, "spec", "billing", "account"); err != nil {
		return admission.Errored(http.StatusBadRequest, fmt.Errorf("spec.billing.account: %w", err))
	}
	text, err := json.Marshal(object.Object)
	if err != nil {
		return admission.Errored(http.StatusInternalServerError, err)
	}
	return admission.PatchResponseFromRaw(req.Object.Raw, text)
}
