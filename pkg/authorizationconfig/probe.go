// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package authorizationconfig

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/util/wait"
	apiserverapi "k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	authorizationcel "k8s.io/apiserver/pkg/authorization/cel"
	webhookauthorizer "k8s.io/apiserver/plugin/pkg/authorizer/webhook"
	"k8s.io/apiserver/plugin/pkg/authorizer/webhook/metrics"
)

// The question that a probe asks a webhook: whether this user may do this with this path. Nobody
// else asks it, and nothing depends on the decision.
const (
	ProbeUser = "system:kube-granular:probe"
	ProbeVerb = "get"
	ProbePath = "/kube-granular/probe"
)

// ProbeTimeout is how long all probes of one reload may take together.
const ProbeTimeout = 3 * time.Second

// probed is a webhook to be probed.
type probed struct {
	// index is the position in the list of authorizers.
	index   int
	name    string
	webhook *apiserverapi.WebhookConfiguration
	dial    utilnet.DialFunc
}

// probe asks all webhooks at the same time. It returns an error for each that does not answer the
// question with a valid review, whatever the decision is.
func probe(ctx context.Context, webhooks []probed) error {
	if len(webhooks) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, ProbeTimeout)
	defer cancel()
	type answer struct {
		position int
		err      error
	}
	answers := make(chan answer, len(webhooks))
	errs := make([]error, len(webhooks))
	for i, w := range webhooks {
		errs[i] = w.invalid(fmt.Errorf("there is no answer within %s", ProbeTimeout))
		go func() {
			err := w.ask(ctx)
			if err != nil && ctx.Err() == nil {
				err = w.invalid(err)
			} else if err != nil {
				err = errs[i]
			}
			answers <- answer{i, err}
		}()
	}
	for range webhooks {
		// The code of a credential plugin may not end with ctx.
		select {
		case a := <-answers:
			errs[a.position] = a.err
		case <-ctx.Done():
			return utilerrors.NewAggregate(errs)
		}
	}
	return utilerrors.NewAggregate(errs)
}

// invalid returns the error of a webhook that can't be used for a reason.
func (p probed) invalid(reason error) error {
	path := field.NewPath("authorizers").Index(p.index).Child("connectionInfo", "kubeConfigFile")
	return field.Invalid(path, *p.webhook.ConnectionInfo.KubeConfigFile, fmt.Sprintf("the webhook %q is not healthy: %v", p.name, reason))
}

// ask sends the webhook one review over a new connection, by the code that sends all reviews. It
// evaluates no match conditions, tries once, and counts in no metric.
func (p probed) ask(ctx context.Context) error {
	config, err := loadConnection(*p.webhook.ConnectionInfo.KubeConfigFile)
	if err != nil {
		return err
	}
	config.Dial = p.dial
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return once{next} })
	if timeout := p.webhook.Timeout.Duration; timeout != 0 {
		config.Timeout = timeout
	}
	asked, err := webhookauthorizer.New(config, p.webhook.SubjectAccessReviewVersion, 0, 0, wait.Backoff{Steps: 1},
		authorizer.DecisionDeny, nil, p.name, metrics.NoopAuthorizerMetrics{}, authorizationcel.NewDefaultCompiler())
	if err != nil {
		return err
	}
	_, _, err = asked.Authorize(ctx, authorizer.AttributesRecord{
		User: &user.DefaultInfo{Name: ProbeUser, Groups: []string{user.AllAuthenticated}}, Verb: ProbeVerb, Path: ProbePath,
	})
	if errors.Is(err, context.DeadlineExceeded) {
		return errors.New("there is no answer within the timeout of the webhook")
	}
	return err
}

// once closes the connection of each request after the answer.
type once struct{ http.RoundTripper }

func (o once) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.Close = true
	return o.RoundTripper.RoundTrip(req)
}
