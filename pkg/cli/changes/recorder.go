// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package changes

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/api/validation/path"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Read is a read request of a command.
type Read struct {
	// Verb is get, list or watch.
	Verb                                    string
	Group, Resource, Namespace, Name, Below string
}

// Recording has the requests that a recorded command sent.
type Recording struct {
	Requests []Request
	// Reads are the distinct read requests, in order.
	Reads []Read
}

// Command is a kubectl command to record.
type Command struct {
	// Args begin with the name of the program.
	Args      []string
	Stdin     io.Reader
	Namespace string
}

// connectionFlag returns the first flag of kubectl in args that chooses a server or a user, or "". With it, a command would not
// write through the proxy.
func connectionFlag(args []string) string {
	// These flags of connections choose neither a server nor an identity. Some commands have a flag --user of their own, and the
	// kubeconfig of the proxy has no second user that it could name.
	free := []string{"namespace", "cache-dir", "request-timeout", "disable-compression", "user"}
	known := pflag.NewFlagSet("", pflag.ContinueOnError)
	genericclioptions.NewConfigFlags(false).WithDeprecatedPasswordFlag().AddFlags(known)
	for i, arg := range args {
		name, long := strings.CutPrefix(arg, "--")
		name, _, _ = strings.Cut(name, "=")
		// Flags without a value may stand before -s in one argument, such as -As.
		rest, one := strings.CutPrefix(arg, "-")
		short := one && !long && strings.HasPrefix(strings.TrimLeft(rest, valueless), "s")
		switch {
		case arg == "--" && (i == 0 || !takesNext(args[i-1])):
			return "" // what follows is no flag of kubectl
		case short:
			return "-s"
		case name == "kuberc" && long:
			return "--kuberc" // its defaults may name a server
		case long && known.Lookup(name) != nil && !slices.Contains(free, name):
			return "--" + name
		}
	}
	return ""
}

// valueless are the short flags of kubectl's commands that take no value.
const valueless = "ARhiqtw"

// takesNext reports whether a flag may take the next argument for its value, even if that is --.
func takesNext(arg string) bool {
	return strings.HasPrefix(arg, "-") && !strings.Contains(arg, "=") && strings.Trim(arg[1:], valueless) != ""
}

// Record runs a command with a kubeconfig for a proxy on loopback, which forwards reads and makes
// a dry run of each write. It returns the requests that the command sent. The path of the proxy
// contains a secret token, so that only this command can use the proxy.
func (r *DryRunner) Record(ctx context.Context, config *rest.Config, c Command) (*Recording, error) {
	if flag := connectionFlag(c.Args); flag != "" {
		return nil, fmt.Errorf("%s must be given to kubectl granular, before the --", flag)
	}
	transport, err := rest.TransportFor(config)
	if err != nil {
		return nil, err
	}
	target, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, err
	}
	forward := httputil.NewSingleHostReverseProxy(target)
	forward.Transport = transport
	forward.FlushInterval = -1 // forward events of watches at once
	rec := &recorder{runner: r, token: rand.Text(), forward: forward, host: target.Host, recording: &Recording{}}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	server := &http.Server{Handler: rec}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	defer func() {
		_ = server.Close()
		<-ended
	}()
	dir, err := os.MkdirTemp("", "kubectl-granular-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	kubeconfig := filepath.Join(dir, "kubeconfig")
	if err := writeKubeconfig(kubeconfig, "http://"+listener.Addr().String()+"/"+rec.token, c.Namespace); err != nil {
		return nil, err
	}
	ctx, rec.stop = context.WithCancel(ctx)
	defer rec.stop()
	var said bytes.Buffer
	cmd := exec.CommandContext(ctx, c.Args[0], c.Args[1:]...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig, "KUBECACHEDIR="+dir, "KUBERC=off")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = c.Stdin, &said, &said
	cmd.WaitDelay = 5 * time.Second // for plugins that leave children behind
	failed := cmd.Run()
	rec.mu.Lock()
	defer rec.mu.Unlock()
	switch {
	case len(rec.refused) > 0:
		return nil, errors.Join(distinct(rec.refused)...)
	case failed != nil:
		return nil, commandError(fmt.Errorf("%s: %w", c.Args[0], failed), said.String())
	case len(rec.recording.Requests) == 0:
		return nil, commandError(fmt.Errorf("%s sent no write request; it printed", c.Args[0]), said.String())
	}
	rec.recording.Reads = rec.recording.neededReads(c.Args)
	return rec.recording, nil
}

// commandError returns the error of a command, joined with an error for each line that the command
// printed.
func commandError(err error, said string) error {
	all := []error{err}
	for line := range strings.Lines(said) {
		if line = strings.TrimSpace(line); line != "" {
			all = append(all, errors.New(line))
		}
	}
	return errors.Join(all...)
}

// distinct returns the errors with distinct messages.
func distinct(all []error) []error {
	var out []error
	for _, err := range all {
		if !slices.ContainsFunc(out, func(e error) bool { return e.Error() == err.Error() }) {
			out = append(out, err)
		}
	}
	return out
}

// neededReads returns the reads without which the command fails. kubectl replace works without its
// read of an object that it replaces, so a role for it need not reveal the old content.
func (r *Recording) neededReads(args []string) []Read {
	if !slices.Contains(args, "replace") {
		return r.Reads
	}
	return slices.DeleteFunc(slices.Clone(r.Reads), func(read Read) bool {
		return read.Verb == "get" && slices.ContainsFunc(r.Requests, func(w Request) bool {
			resource := w.Kind.Resource
			return w.Verb == "update" && read == Read{"get", resource.Group, resource.Resource, w.Namespace, w.Name, w.Subresource}
		})
	})
}

// writeKubeconfig writes the kubeconfig for the recorder. The token is part of the path, because
// kubectl sends credentials over TLS only.
func writeKubeconfig(file, server, namespace string) error {
	c := clientcmdapi.NewConfig()
	c.Clusters["recorder"] = &clientcmdapi.Cluster{Server: server}
	c.AuthInfos["recorder"] = &clientcmdapi.AuthInfo{}
	c.Contexts["recorder"] = &clientcmdapi.Context{Cluster: "recorder", AuthInfo: "recorder", Namespace: namespace}
	c.CurrentContext = "recorder"
	return clientcmd.WriteToFile(*c, file)
}

// recorder is the proxy against which a recorded command runs. It forwards reads, and sends a dry
// run in place of each write.
type recorder struct {
	runner  *DryRunner
	token   string
	host    string
	forward http.Handler

	// stop ends the recorded command.
	stop context.CancelFunc

	mu        sync.Mutex
	recording *Recording
	refused   []error
}

// reviewGroups are the API groups of reviews, whose objects the server does not store. So the
// recorder can forward their creation without writing anything.
var reviewGroups = []string{"authorization.k8s.io", "authentication.k8s.io"}

// ServeHTTP forwards a read or a review, records a write and sends it as a dry run, and refuses any
// other request.
func (rec *recorder) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	token, rest, _ := strings.Cut(strings.TrimPrefix(req.URL.Path, "/"), "/")
	if subtle.ConstantTimeCompare([]byte(token), []byte(rec.token)) != 1 {
		http.Error(w, "not the recorded command", http.StatusForbidden)
		return
	}
	req.URL.Path, req.URL.RawPath = "/"+rest, ""
	for name := range req.Header {
		if strings.HasPrefix(name, "Impersonate-") {
			rec.refuse(w, errors.New("impersonation must be requested by flags of kubectl granular, before the --"))
			return
		}
	}
	path, resource := parsePath(req.URL.Path)
	switch {
	case req.Header.Get("Upgrade") != "":
		rec.refuse(w, connects(req.URL.Path, path))
	case req.Method == http.MethodGet || req.Method == http.MethodHead:
		if first, _, _ := strings.Cut(path.Subresource, "/"); resource && connectionSubresources[first] {
			rec.refuse(w, connects(req.URL.Path, path))
			return
		}
		if resource && rec.waits(req.URL.Query()) {
			// The command would wait for what no dry run makes happen, and try again if it were refused.
			rec.refuse(w, fmt.Errorf("the command waits for changes of %s and changes nothing itself; give a command that writes",
				path.Resource.GroupResource()))
			rec.stop()
			return
		}
		if resource {
			rec.recordRead(path, req.URL.Query())
		}
		req.Host = rec.host
		rec.forward.ServeHTTP(w, req)
	case req.Method == http.MethodPost && resource && slices.Contains(reviewGroups, path.Resource.Group):
		req.Host = rec.host
		rec.forward.ServeHTTP(w, req)
	case !resource:
		rec.refuse(w, fmt.Errorf("%s %s does not write an object", req.Method, req.URL.Path))
	default:
		rec.recordWrite(w, req, path)
	}
}

// connectionSubresources are subresources that open a connection by GET.
var connectionSubresources = map[string]bool{"attach": true, "exec": true, "portforward": true, "proxy": true}

// connects returns the error of a request that opens a connection.
func connects(url string, path resourcePath) error {
	first, _, _ := strings.Cut(path.Subresource, "/")
	return fmt.Errorf("%s opens a connection and changes no fields; it needs %s", url,
		ordinaryRole("create", path.Resource.GroupResource(), first, path.Namespace))
}

// ordinaryRole describes the role that allows a request without fields.
func ordinaryRole(verb string, groupResource schema.GroupResource, subresource, namespace string) string {
	resource, role := groupResource.String(), "clusterrole"
	if subresource != "" {
		resource += "/" + subresource
	}
	if namespace != "" {
		role = "role"
	}
	return fmt.Sprintf("the ordinary verb %s: kubectl create %s NAME --verb=%s --resource=%s", verb, role, verb, resource)
}

// waits reports whether a read waits for changes although the command has written nothing.
func (rec *recorder) waits(query url.Values) bool {
	rec.mu.Lock()
	defer rec.mu.Unlock()
	return (query.Get("watch") == "true" || query.Get("watch") == "1" || query.Get("follow") == "true") &&
		len(rec.recording.Requests)+len(rec.refused) == 0
}

// selectedName returns the name that the field selector of a list or watch selects, or "". The server
// authorizes such a request for this name.
func selectedName(query url.Values) string {
	selector, err := fields.ParseSelector(query.Get("fieldSelector"))
	if err != nil {
		return ""
	}
	name, ok := selector.RequiresExactMatch("metadata.name")
	if !ok || len(path.IsValidPathSegmentName(name)) > 0 {
		return ""
	}
	return name
}

func (rec *recorder) recordRead(path resourcePath, query url.Values) {
	read := Read{"get", path.Resource.Group, path.Resource.Resource, path.Namespace, path.Name, path.Subresource}
	switch {
	case query.Get("watch") == "true" || query.Get("watch") == "1":
		read.Verb = "watch"
	case path.Name == "":
		read.Verb = "list"
	}
	if read.Name == "" {
		read.Name = selectedName(query)
	}
	rec.mu.Lock()
	defer rec.mu.Unlock()
	if !slices.Contains(rec.recording.Reads, read) {
		rec.recording.Reads = append(rec.recording.Reads, read)
	}
}
