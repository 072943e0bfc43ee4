// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package lend

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Kubeconfig returns a kubeconfig with the token of a loan, for the server of config. namespace is the
// namespace of its context, which may be empty.
func Kubeconfig(config *rest.Config, namespace string, loan *Loan) ([]byte, error) {
	config = rest.CopyConfig(config)
	if err := rest.LoadTLSFiles(config); err != nil {
		return nil, err
	}
	cluster := &clientcmdapi.Cluster{
		Server: config.Host + config.APIPath, CertificateAuthorityData: config.CAData, TLSServerName: config.ServerName, InsecureSkipTLSVerify: config.Insecure,
	}
	name := loan.Account.String()
	return clientcmd.Write(clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{"cluster": cluster},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{name: {Token: loan.Token}},
		Contexts:       map[string]*clientcmdapi.Context{name: {Cluster: "cluster", AuthInfo: name, Namespace: namespace}},
		CurrentContext: name,
	})
}

// File is a new file that only its owner can read, for a kubeconfig.
type File struct {
	name string
	file *os.File
	info fs.FileInfo
}

// NewFile creates a file. It fails if the file exists, because others could have opened it.
func NewFile(name string) (*File, error) {
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("%s exists; a token is written only to a new file, which nobody else has opened", name)
	}
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return &File{name, file, info}, nil
}

// Write writes the whole content and closes the file.
func (f *File) Write(content []byte) error {
	_, err := f.file.Write(content)
	return errors.Join(err, f.file.Close())
}

// Remove removes the file. It leaves another one that has the name by now.
func (f *File) Remove() error {
	_ = f.file.Close() // it may be closed
	found, err := os.Lstat(f.name)
	if err != nil {
		return err
	}
	if !os.SameFile(found, f.info) {
		return fmt.Errorf("%s is another file by now, and was not removed", f.name)
	}
	return os.Remove(f.name)
}
