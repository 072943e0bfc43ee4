// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package localcluster

import (
	"context"
	"errors"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/component-base/featuregate"

	"kube-granular.dev/api/printing"
	"kube-granular.dev/pkg/features"
	"kube-granular.dev/pkg/localcluster/demo"
)

// grantsTimeout is how long the start waits until RBAC allows what the demo's roles grant. In a
// new cluster this takes a moment. If an administrator has changed the roles, RBAC may never allow
// it. After the limit, the start continues with a message.
const grantsTimeout = 15 * time.Second

// granular reports whether the feature gate GranularAuthorization is on.
func (c *cluster) granular() bool { return c.enabled(features.GranularAuthorization, true) }

// delegates reports whether the server serves AuthorityDelegations, and callers can select them.
func (c *cluster) delegates() bool {
	return c.enabled(features.SelectedAuthority, false) && c.enabled(features.AuthorityDelegation, false)
}

// enabled reports whether a feature gate is on.
func (c *cluster) enabled(gate featuregate.Feature, byDefault bool) bool {
	// A gate may have the name of its component before it.
	for _, prefix := range []string{"", "kube:"} {
		if enabled, said := c.FeatureGates[prefix+string(gate)]; said {
			return enabled
		}
	}
	return byDefault
}

// startDemo creates the objects and users of the demo.
func (c *cluster) startDemo(ctx context.Context, access kubeconfigs, client *rest.Config, rbac bool) error {
	kept, err := demo.Apply(ctx, client)
	if err != nil {
		return err
	}
	for _, object := range kept {
		c.logf("%s has been changed by others and is kept", object)
	}
	for _, user := range demo.Users {
		if _, err := access.byCertificate(user); err != nil {
			return err
		}
	}
	token, err := demo.Token(ctx, client)
	if err != nil {
		return err
	}
	if err := access.byToken(demo.Supersafe, token); err != nil {
		return err
	}
	if !rbac || len(kept) > 0 {
		return nil
	}
	waiting, cancel := context.WithTimeout(ctx, grantsTimeout)
	defer cancel()
	err = demo.WaitForGrants(waiting, client)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		c.logf("the users of the demo do not have all their grants: %v", err)
		return nil
	}
	return err
}

// printNextSteps prints commands that the user can try in the new cluster.
func (c *cluster) printNextSteps(access kubeconfigs) {
	say := func(format string, args ...any) { _ = printing.Fprintf(c.Out, format+"\n", args...) }
	kubectl := func(user string) string {
		return kubectlPath() + " --kubeconfig " + quote(relativePath(access.path(user)))
	}
	say("")
	if !c.Demo {
		say("The cluster is empty. As its administrator:")
		say("")
		say("  %s get namespaces", kubectl(adminUser))
		say("")
		return
	}
	k := kubectl(demo.Supersafe)
	if !c.granular() {
		say("GranularAuthorization is off, so the service account supersafe may read and may change nothing:")
		say("")
		say("  %s label deployment web super.safe.com/level=high --overwrite", k)
		say("")
		c.printOtherUsers(kubectl)
		return
	}
	say("The service account supersafe has no \"update\" and no \"patch\". It may change only labels, annotations and finalizers of super.safe.com and the condition SuperSafe:")
	say("")
	say("  %s label deployment web super.safe.com/level=high --overwrite", k)
	say("  %s annotate deployment web super.safe.com/checked=yes --overwrite", k)
	say(`  %s patch deployment web --subresource status --patch '{"status":{"conditions":[{"type":"SuperSafe","status":"True"}]}}'`, k)
	say("")
	say("The server refuses any other change:")
	say("")
	say("  %s label deployment web team=red --overwrite", k)
	say(`  %s patch deployment web --patch '{"spec":{"replicas":5}}'`, k)
	say("")
	c.printOtherUsers(kubectl)
}

// printOtherUsers prints commands for the users other than supersafe.
func (c *cluster) printOtherUsers(kubectl func(user string) string) {
	say := func(format string, args ...any) { _ = printing.Fprintf(c.Out, format+"\n", args...) }
	say("Others in this cluster: %s (everything), %s (the built-in role edit), %s (the built-in role view):",
		adminUser, demo.Users[0], demo.Users[1])
	say("")
	say("  %s scale deployment web --replicas=3", kubectl(demo.Users[0]))
	say("  %s get deployment web --show-labels", kubectl(demo.Users[1]))
	say("  %s get clusterrole supersafe --output yaml", kubectl(adminUser))
	say("")
}
