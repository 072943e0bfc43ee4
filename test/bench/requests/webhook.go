// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	admissionv1 "k8s.io/api/admission/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kube-granular.dev/test/bench/requests/internal/process"
)

const (
	// webhookUser is the user of the webhook, which may create SubjectAccessReviews.
	webhookUser = "webhook"
	// programEnv is the environment variable that makes the test binary run as this program.
	programEnv = "KUBE_GRANULAR_BENCH_PROGRAM"
)

// startWebhook starts a process that enforces the rule as a webhook, and returns its URL.
func (s *session) startWebhook(server *process.Server) (*process.Child, string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, "", err
	}
	defer l.Close()
	file, err := l.(*net.TCPListener).File()
	if err != nil {
		return nil, "", err
	}
	defer file.Close()
	program, err := os.Executable()
	if err != nil {
		return nil, "", err
	}
	cmd := exec.Command(program, "webhook", "--server="+server.URL(), "--ca="+s.stage.Files.CA, "--cert="+s.stage.Files.ServingCert, "--key="+s.stage.Files.ServingKey)
	cmd.ExtraFiles = []*os.File{file}
	cmd.Env = append(os.Environ(), programEnv+"=1")
	child, err := process.Start(cmd, filepath.Join(s.stage.Dir, "webhook-"+server.Name+".log"))
	return child, "https://" + l.Addr().String(), err
}

// newWebhook returns the command that startWebhook runs. It listens on a socket that it inherits as
// file descriptor 3.
func newWebhook() *cobra.Command {
	var server, ca, cert, key string
	cmd := &cobra.Command{
		Use:    "webhook",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			l, err := net.FileListener(os.NewFile(3, "listener"))
			if err != nil {
				return err
			}
			transport, err := process.Trusting(ca)
			if err != nil {
				return err
			}
			return http.ServeTLS(l, judge{process.NewClient(server, webhookUser, transport)}, cert, key)
		},
	}
	cmd.Flags().StringVar(&server, "server", "", "URL of the API server to which access reviews are sent")
	cmd.Flags().StringVar(&ca, "ca", "", "file with the certificate of the trusted CA")
	cmd.Flags().StringVar(&cert, "cert", "", "file with the serving certificate")
	cmd.Flags().StringVar(&key, "key", "", "file with the key of the serving certificate")
	return cmd
}

// judge is a validating webhook that enforces the rule: a caller that changes a guarded key must
// have the permission. Only if a guarded key changed, it asks the server by a SubjectAccessReview.
type judge struct{ server *process.Client }

func (j judge) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	review := &admissionv1.AdmissionReview{}
	if err := json.NewDecoder(r.Body).Decode(review); err != nil || review.Request == nil {
		http.Error(w, "not a review", http.StatusBadRequest)
		return
	}
	answer := &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}
	if allowed, err := j.allowed(r.Context(), review.Request); err != nil || !allowed {
		answer.Allowed, answer.Result = false, &metav1.Status{Status: metav1.StatusFailure, Code: http.StatusForbidden, Message: fmt.Sprint("a guarded key was changed: ", err)}
	}
	review.Request, review.Response = nil, answer
	w.Header().Set("Content-Type", jsonBody)
	if err := json.NewEncoder(w).Encode(review); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}

func (j judge) allowed(ctx context.Context, r *admissionv1.AdmissionRequest) (bool, error) {
	caller := subjects[r.Resource.Resource]
	before, err := guarded(r.OldObject.Raw, caller.keys)
	if err != nil {
		return false, err
	}
	after, err := guarded(r.Object.Raw, caller.keys)
	if err != nil || maps.Equal(before, after) {
		return err == nil, err
	}
	review := authorizationv1.SubjectAccessReview{
		TypeMeta: metav1.TypeMeta{APIVersion: authorizationv1.SchemeGroupVersion.String(), Kind: "SubjectAccessReview"},
		Spec: authorizationv1.SubjectAccessReviewSpec{User: r.UserInfo.Username, Groups: r.UserInfo.Groups, ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: r.Namespace, Name: r.Name, Group: r.Resource.Group, Resource: r.Resource.Resource, Verb: caller.verb}},
	}
	body, err := json.Marshal(review)
	if err != nil {
		return false, err
	}
	status, answer, _, err := j.server.Do(ctx, http.MethodPost, "/apis/authorization.k8s.io/v1/subjectaccessreviews", jsonBody, body)
	if err != nil || status != http.StatusCreated {
		return false, errors.Join(err, fmt.Errorf("%d %s", status, answer))
	}
	if err := json.Unmarshal(answer, &review); err != nil {
		return false, err
	}
	return review.Status.Allowed, nil
}

// guarded returns the guarded keys, with their values, of the map at a path in an object.
func guarded(raw []byte, path []string) (map[string]string, error) {
	object := map[string]any{}
	if err := json.Unmarshal(raw, &object); err != nil {
		return nil, err
	}
	all, _, err := unstructured.NestedStringMap(object, path...)
	maps.DeleteFunc(all, func(key, _ string) bool { return !strings.HasPrefix(key, guardedPrefix) })
	return all, err
}
