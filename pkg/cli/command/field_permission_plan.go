// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsclient "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/typed/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubeschema "k8s.io/apimachinery/pkg/runtime/schema"
	admissionclient "k8s.io/client-go/kubernetes/typed/admissionregistration/v1"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/api/authority/validation"
	authorityclient "kube-granular.dev/api/client/clientset/versioned/typed/authority/v1alpha1"
	"kube-granular.dev/granular/overlay"
	"kube-granular.dev/pkg/cli/access"
	"kube-granular.dev/pkg/cli/fieldplan"
	"kube-granular.dev/pkg/cli/kinds"
	"kube-granular.dev/pkg/cli/pages"
	"kube-granular.dev/pkg/fieldpermission/entry"
)

// planFieldPermission makes the plan of one object.
func (s *options) planFieldPermission(cmd *cobra.Command, p *v1alpha1.FieldPermission, logs *auditLogs) (*fieldplan.Plan, error) {
	ctx := cmd.Context()
	entries, wrong := entry.Parse(p)
	if len(wrong) > 0 {
		return nil, fmt.Errorf("fieldpermission %s: %w", p.Name, wrong.ToAggregate())
	}
	k, err := s.kindWithoutEntries(p)
	if err != nil {
		return nil, err
	}
	rbac, err := s.rbac(ctx)
	if err != nil {
		return nil, err
	}
	plan, err := fieldplan.New(k, entries, rbac)
	if err != nil {
		return nil, err
	}
	if len(logs.files) > 0 {
		if err := s.addLogged(cmd, entries, plan, rbac, logs); err != nil {
			return nil, err
		}
	}
	config, err := s.flags.ToRESTConfig()
	if err != nil {
		return nil, err
	}
	if err := addWriters(ctx, config, k, plan); err != nil {
		plan.Unknown = append(plan.Unknown, fmt.Sprintf("who writes the fields: %v", err))
	}
	if err := addMutators(ctx, config, plan); err != nil {
		plan.Unknown = append(plan.Unknown, fmt.Sprintf("which webhooks and mutating policies may change the objects: %v", err))
	}
	if err := addCustomTemplates(ctx, config, plan); err != nil {
		plan.Unknown = append(plan.Unknown, fmt.Sprintf("which custom resources have a template of the kind: %v", err))
	}
	if err := askAboutFieldPermission(ctx, config, p, plan); err != nil {
		plan.Unknown = append(plan.Unknown, fmt.Sprintf("the server's answer: %v", err))
	}
	return plan, nil
}

// addLogged adds the requests of audit logs that the exclusions of a plan would have refused.
func (s *options) addLogged(cmd *cobra.Command, planned *overlay.Entries, plan *fieldplan.Plan, rbac *access.RBAC, logs *auditLogs) error {
	enforced := *planned
	enforced.Enforced = true
	with := *s
	var err error
	with.kinds, err = s.kindsWith(func() (map[kubeschema.GroupResource]*overlay.Entries, error) {
		all, err := s.entries()
		if all == nil {
			all = map[kubeschema.GroupResource]*overlay.Entries{}
		}
		all[kubeschema.ParseGroupResource(planned.Source)] = &enforced
		return all, err
	})
	if err != nil {
		return err
	}
	log := fieldplan.NewLog(plan, rbac)
	one := *logs
	one.each, one.unread = log.Judge, 0
	if _, err := one.learn(cmd, &with); err != nil {
		return err
	}
	logs.unread += one.unread
	return log.Complete()
}

// kindWithoutEntries returns the kind of a FieldPermission's resource, as its author declared it.
func (s *options) kindWithoutEntries(p *v1alpha1.FieldPermission) (*kinds.Kind, error) {
	c, err := s.kindsWith(nil)
	if err != nil {
		return nil, err
	}
	resource, version := validation.ResourceOf(p.Name), ""
	if p.Spec.Version != "" {
		version = metav1.GroupVersion{Group: resource.Group, Version: p.Spec.Version}.String()
	}
	return c.Lookup(p.Name, version)
}

// addWriters adds who owns the fields in live objects.
func addWriters(ctx context.Context, config *rest.Config, k *kinds.Kind, plan *fieldplan.Plan) error {
	client, err := metadata.NewForConfig(config)
	if err != nil {
		return err
	}
	err = pages.Each(ctx, client.Resource(k.Resource).List, func(o *metav1.PartialObjectMetadata) error {
		plan.AddObject(o.ManagedFields)
		return nil
	})
	plan.SortWriters()
	return err
}

// addMutators adds the webhooks and policies that may change objects in which the entries hold.
func addMutators(ctx context.Context, config *rest.Config, plan *fieldplan.Plan) error {
	client, err := admissionclient.NewForConfig(config)
	if err != nil {
		return err
	}
	webhooks, err := client.MutatingWebhookConfigurations().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for i := range webhooks.Items {
		plan.AddWebhooks(&webhooks.Items[i])
	}
	policies, err := client.MutatingAdmissionPolicies().List(ctx, metav1.ListOptions{})
	if apierrors.IsNotFound(err) { // a server from before v1.36
		return nil
	}
	if err != nil {
		return err
	}
	for i := range policies.Items {
		plan.AddPolicy(&policies.Items[i])
	}
	return nil
}

// addCustomTemplates adds the custom resources with a template of the kind, in which no entries hold.
func addCustomTemplates(ctx context.Context, config *rest.Config, plan *fieldplan.Plan) error {
	if !plan.LooksForTemplates() {
		return nil
	}
	client, err := apiextensionsclient.NewForConfig(config)
	if err != nil {
		return err
	}
	return pages.Each(ctx, client.CustomResourceDefinitions().List, func(o *apiextensionsv1.CustomResourceDefinition) error {
		plan.AddDefinition(o)
		return nil
	})
}

// askAboutFieldPermission sends the object as a dry run, and adds the answer of the server.
func askAboutFieldPermission(ctx context.Context, config *rest.Config, p *v1alpha1.FieldPermission, plan *fieldplan.Plan) error {
	warnings := &heardWarnings{}
	config = rest.CopyConfig(config)
	config.WarningHandler = warnings
	client, err := authorityclient.NewForConfig(config)
	if err != nil {
		return err
	}
	_, err = client.FieldPermissions().Create(ctx, p, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	if apierrors.IsAlreadyExists(err) {
		var live *v1alpha1.FieldPermission
		if live, err = client.FieldPermissions().Get(ctx, p.Name, metav1.GetOptions{}); err != nil {
			return err
		}
		warnings.texts = nil
		live.Spec = p.Spec
		_, err = client.FieldPermissions().Update(ctx, live, metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}})
	}
	switch {
	case err == nil:
		plan.Server = &fieldplan.Answer{Accepted: true, Warnings: warnings.texts}
	case apierrors.IsInvalid(err) || apierrors.IsBadRequest(err):
		plan.Server = &fieldplan.Answer{Message: err.Error(), Warnings: warnings.texts}
	case apierrors.IsNotFound(err):
		return errors.New("it does not serve FieldPermissions; its feature gate FieldPermissions may be off")
	default:
		return err
	}
	return nil
}

// heardWarnings keeps the warnings of a server.
type heardWarnings struct{ texts []string }

// HandleWarningHeader implements rest.WarningHandler.
func (w *heardWarnings) HandleWarningHeader(code int, _, text string) {
	if code == 299 && text != "" {
		w.texts = append(w.texts, text)
	}
}
