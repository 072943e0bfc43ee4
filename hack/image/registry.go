// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/spf13/cobra"
)

func registryCommand() *cobra.Command {
	var listen, cert, key, blobs string
	cmd := &cobra.Command{
		Use:   "registry --listen ADDRESS --cert FILE --key FILE --blobs DIRECTORY ARCHIVE...",
		Short: "Serve the images of docker archives, as a proxy that answers for every registry",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, archives []string) error {
			pair, err := tls.LoadX509KeyPair(cert, key)
			if err != nil {
				return err
			}
			handler := registry.New(registry.WithBlobHandler(registry.NewDiskBlobHandler(blobs)),
				registry.Logger(log.New(cmd.ErrOrStderr(), "", log.LstdFlags)))
			for _, archive := range archives {
				if err := pushArchive(handler, archive); err != nil {
					return fmt.Errorf("%s: %w", archive, err)
				}
			}
			listener, err := net.Listen("tcp", listen)
			if err != nil {
				return err
			}
			return serveTunnels(listener, pair, handler)
		},
	}
	cmd.Flags().StringVar(&listen, "listen", "", "the address of the proxy, such as 127.0.0.1:3128")
	cmd.Flags().StringVar(&cert, "cert", "", "the certificate (PEM) that the proxy serves with; clients must trust it, and it must name every registry")
	cmd.Flags().StringVar(&key, "key", "", "the key of the certificate (PEM)")
	cmd.Flags().StringVar(&blobs, "blobs", os.TempDir(), "the directory for the layers")
	for _, needed := range []string{"listen", "cert", "key"} {
		_ = cmd.MarkFlagRequired(needed)
	}
	return cmd
}

// pushArchive uploads every image of a docker archive to a registry, once for each of its tags.
func pushArchive(registry http.Handler, path string) error {
	manifest, err := tarball.LoadManifest(func() (io.ReadCloser, error) { return os.Open(path) })
	if err != nil {
		return err
	}
	for _, entry := range manifest {
		for _, reference := range entry.RepoTags {
			tag, err := name.NewTag(reference)
			if err != nil {
				return err
			}
			image, err := tarball.ImageFromPath(path, &tag)
			if err != nil {
				return fmt.Errorf("%s: %w", tag, err)
			}
			if err := push(registry, tag, image); err != nil {
				return fmt.Errorf("%s: %w", tag, err)
			}
		}
	}
	return nil
}

// push uploads one image. The registry ignores the host in the tag. So two images with the same
// repository and tag on different hosts would overwrite each other.
func push(registry http.Handler, tag name.Tag, image v1.Image) error {
	layers, err := image.Layers()
	if err != nil {
		return err
	}
	config, err := partial.ConfigLayer(image)
	if err != nil {
		return err
	}
	base := "/v2/" + tag.RepositoryStr()
	for _, layer := range append(layers, config) {
		digest, err := layer.Digest()
		if err != nil {
			return err
		}
		blob, err := layer.Compressed()
		if err != nil {
			return err
		}
		err = send(registry, http.MethodPost, base+"/blobs/uploads/?digest="+digest.String(), "application/octet-stream", blob)
		_ = blob.Close() // The registry has closed the one it read to the end.
		if err != nil {
			return err
		}
	}
	media, err := image.MediaType()
	if err != nil {
		return err
	}
	manifest, err := image.RawManifest()
	if err != nil {
		return err
	}
	return send(registry, http.MethodPut, base+"/manifests/"+tag.TagStr(), string(media), bytes.NewReader(manifest))
}

// send makes one request of a registry that runs in this process.
func send(registry http.Handler, method, target, contentType string, body io.Reader) error {
	request := httptest.NewRequest(method, target, body)
	request.Header.Set("Content-Type", contentType)
	answer := httptest.NewRecorder()
	registry.ServeHTTP(answer, request)
	if answer.Code != http.StatusCreated {
		return fmt.Errorf("%s %s: %d %s", method, target, answer.Code, answer.Body)
	}
	return nil
}

// serveTunnels serves an HTTP proxy that accepts only CONNECT requests. Whichever host a client
// asks for, the proxy passes the client's connection to handler, with TLS, and connects to no
// host.
func serveTunnels(listener net.Listener, pair tls.Certificate, handler http.Handler) error {
	ends := &tunnels{accepted: make(chan net.Conn), address: listener.Addr(), closed: make(chan struct{})}
	inner := tls.NewListener(ends, &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12})
	go func() { _ = http.Serve(inner, handler) }()
	defer ends.Close()
	return http.Serve(listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodConnect {
			http.Error(w, "this proxy makes tunnels (CONNECT) only", http.StatusMethodNotAllowed)
			return
		}
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			log.Printf("tunnel to %s: %v", r.Host, err)
			return
		}
		if _, err := io.WriteString(conn, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
			_ = conn.Close()
			return
		}
		select {
		case ends.accepted <- conn:
		case <-ends.closed:
			_ = conn.Close()
		}
	}))
}

// tunnels is a net.Listener. Accept returns the connections of clients for which the proxy has
// accepted a CONNECT request.
type tunnels struct {
	accepted chan net.Conn
	address  net.Addr
	closed   chan struct{}
	closing  sync.Once
}

func (t *tunnels) Accept() (net.Conn, error) {
	select {
	case conn := <-t.accepted:
		return conn, nil
	case <-t.closed:
		return nil, net.ErrClosed
	}
}

func (t *tunnels) Addr() net.Addr { return t.address }

func (t *tunnels) Close() error {
	t.closing.Do(func() { close(t.closed) })
	return nil
}
