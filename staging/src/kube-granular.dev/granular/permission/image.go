// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package permission

import "strings"

// MaxPrefixes is the largest number of parameters that ImageRepositoryPrefix makes from one image.
// It limits the work of the authorizer, which can be asked for the verb of each parameter.
const MaxPrefixes = 8

// imagePrefixes returns the registry of a container image and each longer prefix of its repository,
// shortest first and at most MaxPrefixes. For registry.example/team/app:v1 it returns
// registry.example, registry.example/team and registry.example/team/app. Tag and digest are not
// part of the repository.
//
// It returns nil for an image that does not name its registry, because each node decides which
// registry the name nginx means. It also returns nil for an image with a second spelling, such as
// docker.io/nginx for docker.io/library/nginx, because a grant for one spelling would miss the
// other. The accepted images are a subset of the grammar of github.com/distribution/reference.
func imagePrefixes(image string) []string {
	name := image
	if index := strings.IndexByte(name, '@'); index >= 0 {
		if !isDigest(name[index+1:]) {
			return nil
		}
		name = name[:index]
	}
	slash := strings.IndexByte(name, '/')
	if slash < 0 || !isRegistry(name[:slash]) {
		return nil
	}
	dockerHub := name[:slash] == "docker.io"
	if colon := strings.LastIndexByte(name, ':'); colon > slash {
		if !isTag(name[colon+1:]) {
			return nil
		}
		name = name[:colon]
	}
	if len(name) > maxRepository || dockerHub && strings.IndexByte(name[slash+1:], '/') < 0 {
		return nil
	}
	out := []string{name[:slash]}
	for index := slash; index < len(name); {
		end := strings.IndexByte(name[index+1:], '/')
		if end < 0 {
			end = len(name)
		} else {
			end += index + 1
		}
		if !isPathComponent(name[index+1 : end]) {
			return nil
		}
		if len(out) < MaxPrefixes {
			out = append(out, name[:end])
		}
		index = end
	}
	return out
}

// maxRepository is the length of the longest name of a repository, including the registry, in
// bytes.
const maxRepository = 255

// isRegistry reports whether s, the part of an image name before the first slash, is a registry: a
// host with a dot or a port, or localhost. It rejects upper case and IPv6 addresses in brackets, so
// that each registry has one spelling.
func isRegistry(s string) bool {
	host, port, ported := strings.Cut(s, ":")
	if host == "index.docker.io" {
		return false // the old name of docker.io, and so a second spelling
	}
	if ported && !all(port, digit) {
		return false
	}
	if !ported && host != "localhost" && strings.IndexByte(host, '.') < 0 {
		return false
	}
	for label := range strings.SplitSeq(host, ".") {
		if !all(label, func(c byte) bool { return lower(c) || digit(c) || c == '-' }) ||
			label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
	}
	return true
}

// isPathComponent reports whether s consists of groups of lower-case letters and digits. Between
// two groups stands one dot, one or two underscores, or any number of dashes.
func isPathComponent(s string) bool {
	for {
		n := 0
		for n < len(s) && (lower(s[n]) || digit(s[n])) {
			n++
		}
		if n == 0 {
			return false
		}
		if s = s[n:]; s == "" {
			return true
		}
		switch {
		case strings.HasPrefix(s, "__"):
			s = s[2:]
		case s[0] == '.' || s[0] == '_':
			s = s[1:]
		case s[0] == '-':
			s = strings.TrimLeft(s, "-")
		default:
			return false
		}
	}
}

// isTag reports whether s is an image tag: at most 128 letters, digits, underscores, dots and
// dashes, the first of them neither a dot nor a dash.
func isTag(s string) bool {
	return len(s) <= 128 && all(s, func(c byte) bool { return word(c) || c == '.' || c == '-' }) && word(s[0])
}

// isDigest reports whether s is a SHA-256 or SHA-512 digest.
func isDigest(s string) bool {
	algorithm, sum, _ := strings.Cut(s, ":")
	// Another algorithm has the size 0, which no sum has.
	size := map[string]int{"sha256": 64, "sha512": 128}[algorithm]
	return len(sum) == size && all(sum, func(c byte) bool { return digit(c) || 'a' <= c && c <= 'f' })
}

// all reports whether s is not empty and is(b) is true for each byte b of s.
func all(s string, allowed func(byte) bool) bool {
	for i := range len(s) {
		if !allowed(s[i]) {
			return false
		}
	}
	return s != ""
}

func lower(c byte) bool { return 'a' <= c && c <= 'z' }
func digit(c byte) bool { return '0' <= c && c <= '9' }
func word(c byte) bool  { return lower(c) || digit(c) || 'A' <= c && c <= 'Z' || c == '_' }
