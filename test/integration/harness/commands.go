// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	"kube-granular.dev/test/integration/cluster"
)

// grant creates a role with these verbs and with the name of the user, binds the user to the role,
// and waits until the authorizer allows the verbs. The role is a Role in the namespace of the
// script. With -cluster it is a ClusterRole.
//
//	grant [-cluster] USER VERB[,VERB…] RESOURCE.GROUP[/SUBRESOURCE][,…]
func grant(c *cluster.Cluster) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		namespace := ts.Getenv("NS")
		if len(args) > 0 && args[0] == "-cluster" {
			namespace, args = "", args[1:]
		}
		if neg || len(args) != 3 {
			ts.Fatalf("usage: grant [-cluster] USER VERB[,VERB…] RESOURCE.GROUP[/SUBRESOURCE][,…]")
		}
		config, err := c.Config("admin")
		ts.Check(err)
		client, err := kubernetes.NewForConfig(config)
		ts.Check(err)
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		user, verbs := args[0], strings.Split(args[1], ",")
		var rules []rbacv1.PolicyRule
		for _, resource := range strings.Split(args[2], ",") {
			name, group, subresource := splitResource(resource)
			if subresource != "" {
				name += "/" + subresource
			}
			rules = append(rules, rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{name}, Verbs: verbs})
		}
		ts.Check(bindRole(ctx, client, namespace, user, rules))
		for _, resource := range strings.Split(args[2], ",") {
			asked := authorizationv1.ResourceAttributes{Namespace: namespace}
			asked.Resource, asked.Group, asked.Subresource = splitResource(resource)
			for _, asked.Verb = range verbs {
				ts.Check(waitForGrant(ctx, client, user, asked))
			}
		}
	}
}

// send makes one request as an impersonated user, and prints the status code and the body. Unlike
// kubectl, it does not read the object first. The script fails if the status is 400 or above. With
// !, it fails if the status is below 400.
//
//	[!] send USER METHOD PATH [json|yaml|jsonpatch|merge|strategic|apply BODY|@FILE]
func send(c *cluster.Cluster) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		if len(args) != 3 && len(args) != 5 {
			ts.Fatalf("usage: send USER METHOD PATH [TYPE BODY|@FILE]")
		}
		var body, contentType string
		if len(args) == 5 {
			body = bodyOf(ts, args[4])
			if contentType = ContentTypes[args[3]]; contentType == "" {
				ts.Fatalf("send: %q is not a known content type", args[3])
			}
		}
		status, answer, err := Request(c, args[0], args[1], args[2], contentType, body)
		if err != nil {
			ts.Fatalf("send: %v", err)
		}
		fmt.Fprintf(ts.Stdout(), "%d %s\n", status, answer)
		if refused := status >= 400; refused != neg {
			ts.Fatalf("send %s: %d %s", strings.Join(args[:3], " "), status, answer)
		}
	}
}

// bodyOf returns the body that an argument of a script stands for.
func bodyOf(ts *testscript.TestScript, arg string) string {
	if file, ok := strings.CutPrefix(arg, "@"); ok {
		return ts.ReadFile(file)
	}
	return arg
}

// waitfor repeats a request until the response matches a regular expression. It is for changes
// that the server learns with a delay, for example through an informer. It prints the body of that
// response.
//
//	waitfor USER METHOD PATH TYPE BODY|@FILE REGEXP
//
// TYPE is the content type of the body, by its name in ContentTypes, for example json or merge.
// The script fails if no response matches within a minute, or if a request can't be sent.
func waitfor(c *cluster.Cluster) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		if neg || len(args) != 6 {
			ts.Fatalf("usage: waitfor USER METHOD PATH TYPE BODY|@FILE REGEXP")
		}
		sent := bodyOf(ts, args[4])
		want, err := regexp.Compile(args[5])
		if err != nil {
			ts.Fatalf("waitfor: %v", err)
		}
		var last, body string
		err = wait.PollUntilContextTimeout(context.Background(), 50*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
			status, answer, err := Request(c, args[0], args[1], args[2], ContentTypes[args[3]], sent)
			body, last = answer, strings.Join(strings.Fields(fmt.Sprint(status, " ", answer)), " ")
			return err == nil && want.MatchString(last), err
		})
		if err != nil {
			ts.Fatalf("waitfor %s: %v: the last answer was %s", args[5], err, last)
		}
		fmt.Fprintln(ts.Stdout(), body)
	}
}
