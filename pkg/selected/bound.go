// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package selected

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/tools/cache"

	"kube-granular.dev/api/selection"
	"kube-granular.dev/pkg/delegation"
)

// Bound holds the service accounts that are bound to a delegation by the annotation
// selection.BindingAnnotation. Whoever has the name of such an account acts under the delegation, however
// the name reached the server: by a token, a certificate, impersonation, or an access review.
//
// Until Bound has read the accounts, it treats every service account as bound to an unknown delegation.
type Bound struct {
	// active is false if the accounts are read and none is bound, so that nothing has to be looked up.
	active    atomic.Bool
	hasSynced atomic.Pointer[func() bool]

	mu sync.RWMutex
	// byUser has the binding of each bound account, by the user name of the account.
	byUser map[string]*accountBinding
	// byDelegation has the user name of a bound account, by the UID of the delegation.
	byDelegation map[types.UID]string
	// deleted has the UIDs of bound accounts that were deleted, with the time of the deletion. The server
	// accepts the tokens of a deleted account for some seconds, because it caches their authentication.
	deleted map[string]time.Time
	// store has the accounts of the informer. It is nil before Connect.
	store cache.Store
	// learned has the resource versions of accounts that Learn got, by user name, until the informer reports a later
	// state. Reports of earlier ones are ignored.
	learned map[string]uint64
	now     func() time.Time
}

// deletedStays is how long a deleted account counts as bound. It is longer than tokens are cached.
const deletedStays = 5 * time.Minute

// accountBinding is the binding of one account. It is immutable: if the annotation changes, a new one takes its
// place.
type accountBinding struct {
	accountUID types.UID
	annotation string
	// reference is the delegation, and selected is its selection as text. If the binding can't be used,
	// both name a delegation that never exists.
	reference selection.AuthorityReference
	selected  string
	// problem is why the binding can't be used, whatever the delegation is, or nil.
	problem *delegation.Refusal
}

// noDelegation is the UID of no delegation: UIDs of objects are random.
const noDelegation types.UID = "00000000-0000-0000-0000-000000000000"

func unusable(reason delegation.Reason, message string) *accountBinding {
	s := &selection.SelectedAuthority{AuthorityReference: selection.AuthorityReference{Kind: selection.AuthorityDelegationKind, UID: noDelegation}}
	text, err := s.Text()
	if err != nil {
		panic(err) // impossible: the selection is constant
	}
	return &accountBinding{reference: s.AuthorityReference, selected: text, problem: &delegation.Refusal{Reason: reason, Message: message}}
}

var (
	notRead = unusable(delegation.BindingUnknown, "the server has not read yet which service accounts act under a delegation; try again")
	stale   = unusable(delegation.BindingStale,
		"another service account of this name, which acted under a delegation, was deleted or replaced; get a token of the present one")
)

// NewBound returns a Bound that has read no accounts.
func NewBound() *Bound {
	b := &Bound{byUser: map[string]*accountBinding{}, byDelegation: map[types.UID]string{}, deleted: map[string]time.Time{}, learned: map[string]uint64{}, now: time.Now}
	b.active.Store(true)
	return b
}

// Connect makes an informer of service accounts report to b. It must be called before the informer is
// started.
func (b *Bound) Connect(accounts cache.SharedInformer) error {
	registration, err := accounts.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { b.observe(obj, false) },
		UpdateFunc: func(_, obj any) { b.observe(obj, false) },
		DeleteFunc: func(obj any) { b.observe(obj, true) },
	})
	if err != nil {
		return err
	}
	b.mu.Lock()
	b.store = accounts.GetStore()
	b.mu.Unlock()
	synced := registration.HasSynced
	b.hasSynced.Store(&synced)
	return nil
}

// observe applies a report of the informer, unless Learn got a newer state of the account.
func (b *Bound) observe(obj any, gone bool) {
	unknown, missed := obj.(cache.DeletedFinalStateUnknown)
	if missed {
		obj = unknown.Obj
	}
	account, ok := obj.(*corev1.ServiceAccount)
	if !ok {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	name := serviceaccount.MakeUsername(account.Namespace, account.Name)
	if learned, ok := b.learned[name]; ok {
		if !missed && versionOf(account) < learned {
			return
		}
		delete(b.learned, name)
	}
	b.apply(name, account, gone)
}

// Learn applies the state of an account that was read from storage after a request to this server changed its
// annotation. So the change is in force before the request is answered, although the informer reports it later. A nil
// Bound learns nothing.
func (b *Bound) Learn(account *corev1.ServiceAccount) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if held := b.held(account); held != nil && versionOf(held) > versionOf(account) {
		account = held
	}
	name := serviceaccount.MakeUsername(account.Namespace, account.Name)
	b.learned[name] = versionOf(account)
	b.apply(name, account, false)
}

// held returns the account in the store of the informer, or nil. The informer changes its store before it reports: what
// is not in the store now is reported later. The caller holds the lock.
func (b *Bound) held(account *corev1.ServiceAccount) *corev1.ServiceAccount {
	if b.store == nil {
		return nil
	}
	object, _, _ := b.store.Get(account)
	held, _ := object.(*corev1.ServiceAccount)
	return held
}

// versionOf returns the resource version of an account, or 0 if it has none.
func versionOf(account *corev1.ServiceAccount) uint64 {
	version, err := strconv.ParseUint(account.ResourceVersion, 10, 64)
	if err != nil {
		return 0
	}
	return version
}

// apply makes b have the binding of an account. The caller holds the lock.
func (b *Bound) apply(name string, account *corev1.ServiceAccount, gone bool) {
	b.forget()
	old, annotation := b.byUser[name], account.Annotations[selection.BindingAnnotation]
	if old != nil && !gone && old.accountUID == account.UID && old.annotation == annotation {
		return
	}
	if old != nil {
		if gone || old.accountUID != account.UID {
			b.deleted[string(old.accountUID)] = b.now()
		}
		delete(b.byUser, name)
		if b.byDelegation[old.reference.UID] == name {
			delete(b.byDelegation, old.reference.UID)
		}
	}
	if gone || annotation == "" {
		return
	}
	bound := bindingOf(account, annotation)
	b.byUser[name] = bound
	if bound.problem == nil {
		b.byDelegation[bound.reference.UID] = name
	}
	b.active.Store(true)
}

// forget forgets the accounts that were deleted long ago. The caller holds the lock.
func (b *Bound) forget() {
	for uid, moment := range b.deleted {
		if b.now().Sub(moment) > deletedStays {
			delete(b.deleted, uid)
		}
	}
}

func bindingOf(account *corev1.ServiceAccount, annotation string) *accountBinding {
	named, err := selection.ParseBinding(annotation)
	var text string
	if err == nil {
		text, err = named.Selected().Text()
	}
	if err != nil {
		out := unusable(delegation.BindingStale, fmt.Sprintf("the annotation %s of the service account %s/%s is not valid: %v",
			selection.BindingAnnotation, account.Namespace, account.Name, err))
		out.accountUID, out.annotation = account.UID, annotation
		return out
	}
	return &accountBinding{accountUID: account.UID, annotation: annotation, reference: named.Selected().AuthorityReference, selected: text}
}

// of returns the binding of a user, or nil if the user is not bound. A nil Bound binds nobody.
func (b *Bound) of(u user.Info) *accountBinding {
	if b == nil || !b.active.Load() || u == nil || !strings.HasPrefix(u.GetName(), serviceaccount.ServiceAccountUsernamePrefix) {
		return nil
	}
	if !b.synced() {
		return notRead
	}
	uid := u.GetUID()
	b.mu.RLock()
	found, idle := b.byUser[u.GetName()], len(b.byUser)+len(b.deleted) == 0
	_, deleted := b.deleted[uid]
	b.mu.RUnlock()
	switch {
	case deleted || found != nil && uid != "" && uid != string(found.accountUID):
		return stale
	case idle:
		b.deactivate()
	}
	return found
}

func (b *Bound) synced() bool {
	hasSynced := b.hasSynced.Load()
	return hasSynced != nil && (*hasSynced)()
}

// deactivate stores that there is nothing to look up, unless there is.
func (b *Bound) deactivate() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.byUser)+len(b.deleted) == 0 {
		b.active.Store(false)
	}
}

// Account returns the user name of the service account that is bound to a delegation, or "" if none is.
func (b *Bound) Account(uid types.UID) string {
	if b == nil {
		return ""
	}
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.byDelegation[uid]
}
