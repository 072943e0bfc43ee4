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
	fs.StringVar(&o.address, "webhook-address", "", "address that serves the webhooks; empty disables them")
	fs.StringSliceVar(&o.hosts, "webhook-hosts", nil,
		"names and addresses for the certificate of the webhooks, by which the API server calls them; the default is the Service tenancy-webhook and the loopback address")
	fs.DurationVar(&o.lifetime, "webhook-certificate-lifetime", 90*24*time.Hour,
		"how long a certificate of the webhooks is valid; it is renewed when a third of this time is left")
	fs.StringVar(&o.accounts, "accounts", "", "YAML file that maps users and groups to accounts; a new LNamespace without an account gets the account of its creator")
}

// webhooks has the webhook server, and the keeper that renews the certificate of the server. Both
// are nil if the flag --webhook-address is empty.
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
			return webhooks{}, fmt.Errorf("--accounts needs --webhook-address: the webhook at that address sets the billing account of each LNamespace")
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
		Client: api, Secret: client.ObjectKey{Namespace: o.namespace, Name: "tenancy-webhook-certificate"},
		Configurations: webhook.Configurations,
		Hosts:          hosts, Lifetime: o.webhook.lifetime, Log: ctrl.Log.WithName("certificate"),
	}
	if err := keeper.Sync(ctx); err != nil {
		return webhooks{}, fmt.Errorf("certificate of the webhooks: %w", err)
	}
	return webhooks{keeper: keeper, server: webhook.New(webhook.Options{
		Host: host, Port: port, Client: api, Accounts: o.webhook.accounts, Check: o.Check, IsReserved: o.Names.IsReserved,
		GetCertificate: keeper.GetCertificate,
	})}, nil
}

// add adds the webhook server, the keeper of its certificate and the readiness checks of both to a
// manager. It does nothing if the webhooks are disabled.
func (w webhooks) add(mgr ctrl.Manager) error {
	if w.keeper == nil {
		return nil
	}
	mgr.GetWebhookServer() // this call makes the manager start the server
	if err := mgr.Add(w.keeper); err != nil {
		return err
	}
	if err := mgr.AddReadyzCheck("certificate", w.keeper.Ready); err != nil {
		return err
	}
	return mgr.AddReadyzCheck("webhooks", w.server.StartedChecker())
}
