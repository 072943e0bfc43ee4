// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package examplewebhook

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	certutil "k8s.io/client-go/util/cert"
)

// Options configure a webhook.
type Options struct {
	// Policy is the path of the policy file.
	Policy string
	// Listen is a loopback address; port 0 picks a free port.
	Listen string
	// Kubeconfig is the path of the kubeconfig to write, with which kube-apiserver connects to the
	// webhook. If it is empty, none is written.
	Kubeconfig string
	// OnReview is called with each review and its answer. It may be nil.
	OnReview func(Record)
	// OnError is called with errors that can't be returned to a client. It may be nil.
	OnError func(error)
}

// Server is a running webhook.
type Server struct {
	// URL is the URL to which reviews are sent.
	URL string

	http  *http.Server
	ended chan error
}

// Start starts a webhook, which runs until Server.Stop.
func Start(o Options) (*Server, error) {
	host, _, err := net.SplitHostPort(o.Listen)
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() {
		return nil, fmt.Errorf("listen: %q is not a loopback address such as 127.0.0.1: the webhook does not authenticate its clients", host)
	}
	rules, err := openPolicyFile(o.Policy, o.OnError)
	if err != nil {
		return nil, err
	}
	cert, key, err := certutil.GenerateSelfSignedCertKey(host, []net.IP{net.ParseIP(host)}, []string{"localhost"})
	if err != nil {
		return nil, fmt.Errorf("make a certificate: %w", err)
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", o.Listen)
	if err != nil {
		return nil, err
	}
	s := &Server{URL: "https://" + listener.Addr().String() + "/authorize", ended: make(chan error, 1)}
	if o.Kubeconfig != "" {
		if err := s.writeKubeconfig(o.Kubeconfig, cert); err != nil {
			return nil, errors.Join(err, listener.Close())
		}
	}
	s.http = &http.Server{
		Handler:           &handler{policy: rules, onReview: o.OnReview},
		TLSConfig:         &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12},
		ReadHeaderTimeout: 10 * time.Second,
		ErrorLog:          log.New(errorLogger(o.OnError), "", 0),
	}
	go func() {
		err := s.http.ServeTLS(listener, "", "")
		if errors.Is(err, http.ErrServerClosed) {
			err = nil
		}
		s.ended <- err
	}()
	return s, nil
}

// Stop stops the server at once, without waiting for pending requests.
func (s *Server) Stop() error {
	return errors.Join(s.http.Close(), <-s.ended)
}

// Wait waits until the server ends, and stops the server when ctx ends.
func (s *Server) Wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return s.Stop()
	case err := <-s.ended:
		return err
	}
}

func (s *Server) writeKubeconfig(file string, ca []byte) error {
	config := clientcmdapi.NewConfig()
	config.Clusters["webhook"] = &clientcmdapi.Cluster{Server: s.URL, CertificateAuthorityData: ca}
	config.AuthInfos["kube-apiserver"] = &clientcmdapi.AuthInfo{}
	config.Contexts["webhook"] = &clientcmdapi.Context{Cluster: "webhook", AuthInfo: "kube-apiserver"}
	config.CurrentContext = "webhook"
	if err := clientcmd.WriteToFile(*config, file); err != nil {
		return fmt.Errorf("write the kubeconfig for kube-apiserver: %w", err)
	}
	return os.Chmod(file, 0o600)
}

// errorLogger is a writer that calls the function with each error that net/http logs.
type errorLogger func(error)

func (f errorLogger) Write(line []byte) (int, error) {
	if f != nil {
		f(errors.New(string(line)))
	}
	return len(line), nil
}
