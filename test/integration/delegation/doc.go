// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package delegation tests delegated authority on a running server: which rights a delegation
// gives to whom, what ends it, and what it must never give. Each refused request has a twin
// that is allowed.
//
// What accounts promise that act under a delegation, and the tests that hold it, here and elsewhere:
//
//	 1  both sides agree to a binding: TestBoundAnnotation, TestBindAccount, TestAccountWrite
//	 2  without a valid delegation, nothing but discovery and reviews of oneself: TestBoundAfterTheDelegation, TestBoundWithoutDelegation
//	 3  the binding is looked up at each question, not remembered by authentication: TestBoundStale, TestDeletedStaysBound,
//	    TestBoundFollowsInformer, TestBindingIsLearned
//	 4  the name decides, whoever asks: TestBound, TestBoundByName, TestLentReviews, TestLentRefusals, TestAggregated
//	 5  no UID, or another one: TestBound, TestBoundByName, TestBoundStale, TestLentCertificate
//	 6  a name without a UID is the delegate: TestBoundByName, TestBoundIdentity
//	 7  an account that is made again; lend gives it nothing of its own: TestBoundPeerWithoutGate, TestAmbient, TestBoundTable, TestLendPlan
//	 8  nobody frees itself, on no path: TestBoundStays, TestBindAccount, TestAccountWriteKeeps, TestAccountWriteOfOthers, TestLentAttacks
//	 9  no other identity: TestBoundEscalation, TestBoundHandsNothingOver, TestLentAttacks, TestTokenSecret
//	10  only a narrower selection; no delegate of a policy: TestBoundSelectsNarrower, TestBoundNarrowedStaysBound, TestBoundChain,
//	    TestBoundAnnotation, TestBindDelegateOfPolicy
//	11  who else can use the account is listed first: TestLendPlan, TestPluginLend
//	12  what restricts a selection restricts a binding: TestBoundEscalation, TestLentAttacks, TestLentCertificate
//	13  a token that is shorter or longer than the delegation: TestPluginLendToken
//	14  revoking removes the delegation and the account; what ended is swept: TestPluginLend, TestSweepLent, TestLentRecipes
//	15  servers that are behind, or have just started: TestBoundPeers, TestBoundNotRead, TestBoundLearns, TestPeers
//	16  use, and every audit event: TestBoundUse, TestBoundAudit, TestBoundRefusalIsAudited, TestBoundRefusalsOfRequests
//	17  the token goes to a new file of its owner, and nowhere unasked: TestPluginLend, TestLendFlags
//	18  what programs need besides is said: TestLendPlan
//	19  no account is bound: nothing is looked up and nothing is allocated: TestBoundCost
//
// Clients that know only the kubeconfig: TestLentKubectl, TestLentInformers, TestLentProgram; Helm and Flux: TestLentRecipes.
// Connections under a selection, and their ends: TestKubectlConnects, TestConnectionsEnd, TestUpgradesEnd, TestLogsEnd.
package delegation
