// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"encoding/json"
	"errors"
	"mime"
	"net/http"

	"kube-granular.dev/api/printing"
	"kube-granular.dev/pkg/cli/ui/answer"
)

// answer answers a request of the page.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, path string) {
	ctx := r.Context()
	switch r.Method + " " + path {
	case "GET ":
		write(w, http.StatusOK, "text/html; charset=utf-8", s.document)
	case "GET api/snapshot":
		s.snapshot(w)
	case "POST api/snapshot":
		ask(w, r, func(*struct{}) (any, error) {
			if _, err := s.answers.Refresh(ctx); err != nil {
				return nil, err
			}
			text, err := s.answers.Snapshot()
			return json.RawMessage(text), err
		})
	case "GET api/denials":
		respond(w, ctx)(s.answers.Denials(ctx))
	case "POST api/denial":
		ask(w, r, func(asked *struct {
			Text string `json:"text"`
		}) (any, error) {
			return s.answers.Explain(ctx, asked.Text)
		})
	case "POST api/allowed":
		ask(w, r, func(asked *answer.Asked) (any, error) { return s.answers.Allowed(ctx, asked) })
	case "POST api/grant":
		ask(w, r, func(wish *answer.Wish) (any, error) { return s.answers.Grant(wish) })
	default:
		refuse(w, http.StatusNotFound, "the page has no such part")
	}
}

func (s *Server) snapshot(w http.ResponseWriter) {
	text, err := s.answers.Snapshot()
	if err != nil {
		refuse(w, http.StatusServiceUnavailable, err.Error())
		return
	}
	write(w, http.StatusOK, jsonType, text)
}

const jsonType = "application/json"

// ask decodes the question of a POST, and answers it.
func ask[Q any](w http.ResponseWriter, r *http.Request, answer func(*Q) (any, error)) {
	// Only pages of this origin can send JSON: a form can't.
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != jsonType {
		refuse(w, http.StatusUnsupportedMediaType, "the question must be application/json")
		return
	}
	question := new(Q)
	strict := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody))
	strict.DisallowUnknownFields()
	if err := strict.Decode(question); err != nil {
		var large *http.MaxBytesError
		if errors.As(err, &large) {
			refuse(w, http.StatusRequestEntityTooLarge, "the question is too large")
			return
		}
		refuse(w, http.StatusBadRequest, "the question can't be read")
		return
	}
	value, err := answer(question)
	respond(w, r.Context())(value, err)
}

// respond returns a function that writes an answer.
func respond(w http.ResponseWriter, ctx context.Context) func(any, error) {
	return func(value any, err error) {
		switch {
		case ctx.Err() != nil: // nobody waits for the answer
			refuse(w, http.StatusServiceUnavailable, "the question was cancelled")
		case err != nil:
			refuse(w, http.StatusUnprocessableEntity, err.Error())
		default:
			text, err := printing.MarshalJSON(value)
			if err != nil {
				refuse(w, http.StatusInternalServerError, "the answer can't be written")
				return
			}
			write(w, http.StatusOK, jsonType, text)
		}
	}
}

// refuse writes an error.
func refuse(w http.ResponseWriter, code int, why string) {
	text, err := printing.MarshalJSON(map[string]string{"error": why})
	if err != nil {
		code, text = http.StatusInternalServerError, nil
	}
	write(w, code, jsonType, text)
}

// write writes an answer. All answers are documents of the page or JSON, so nothing in them is taken for markup.
func write(w http.ResponseWriter, code int, kind string, text []byte) {
	w.Header().Set("Content-Type", kind)
	w.WriteHeader(code)
	_, _ = w.Write(text) // a browser that went away needs no answer
}
