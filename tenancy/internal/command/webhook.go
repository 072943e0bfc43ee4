// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	runtimewebhook "sigs.k8s.io/controller-runtime/pkg/webhook"

	"kube-granular.dev/tenancy/internal/accounts"
	"kube-granular.dev/tenancy/internal/certs"
	"kube-granular.dev/tenancy/internal/webhook"
)

// webhookOptions are the flags of the webhooks.
type webhookOptions struct {
	address, accounts string
	hosts             []string
	lifetime          time.Duration
}

func addWebhookFlags(fs *pflag.FlagSet, o *webhookOptions) {
	fs.StringVar(&o.address, "webhook-address", "", "address of the webhooks; empty serves none")
	fs.StringSliceVar(&o.hosts, "webhook-hosts", nil, "names and addresses that the API server calls the webhooks by; of the Service and the loopback unless given")
	fs.DurationVar(&o.lifetime, "webhook-certificate-lifetime", 90*24*time.Hour, "how long a certificate of the webhooks is valid; it is renewed when a third of that is left")
	fs.StringVar(&o.accounts, "accounts", "", "file with the accounts of users and groups, of which one pays for an LNamespace that names none")
}

// webhooks are the webhook server and the Keeper of its certificate. Both are nil if there is no
// address.
type webhooks struct {
	server runtimewebhook.Server
	keeper *certs.Keeper
}

func newWebhooks(ctx context.Context, config *rest.Config, scheme *runtime.Scheme, o runOptions) (webhooks, error) {
	if _, err := accounts.Load(o.webhook.accounts); err != nil {
		return webhooks{}, err
	}
	if o.webhook.address == "" {
		if o.webhook.accounts != "" {
			return webhooks{}, fmt.Errorf("--accounts needs --webhook-address: a webhook says who pays")
		}
		return webhooks{}, nil
	}
	host, text, err := net.SplitHostPort(o.webhook.address)
	if err != nil {
		return webhooks{}, fmt.Errorf("--webhook-address: %w", err)
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		return webhooks{}, fmt.Errorf("--webhook-address: %w", err)
	}
	api, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return webhooks{}, err
	}
	hosts := o.webhook.hosts
	if len(hosts) == 0 {
		hosts = []string{"tenancy-webhook." + o.namespace + ".svc", "127.0.0.1", "localhost"}
	}
	keeper := &certs.Keeper{
		Client: api, Secret: client.ObjectKey{Namespace: o.namespace, Name: "tenancy-webhook-certificate"}, Configurations: webhook.Configurations,
		Hosts: hosts, Lifetime: o.webhook.lifetime, Log: ctrl.Log.WithName("certificate"),
	}
	if err := keeper.Sync(ctx); err != nil {
		return webhooks{}, fmt.Errorf("certificate of the webhooks: %w", err)
	}
	return webhooks{keeper: keeper, server: webhook.New(webhook.Options{
		Host: host, Port: port, Client: api, Accounts: o.webhook.accounts, Reserved: o.Reserved, GetCertificate: keeper.GetCertificate,
	})}, nil
}

// add adds them to a manager, and adds their readiness checks.
func (w webhooks) add(mgr ctrl.Manager) error {
	if w.keeper == nil {
		return nil
	}
	mgr.GetWebhookServer() // this makes the manager start the server
	if err := mgr.Add(w.keeper); err != nil {
		return err
	}
	if err := mgr.AddReadyzCheck("certificate", w.keeper.Ready); err != nil {
		return err
	}
	return mgr.AddReadyzCheck("webhooks", w.server.StartedChecker())
}
