// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fieldpermission tests the kind FieldPermission against a real server: what its entries grant, what they
// close in every way to write, who may write it, and what the server tells of it.
//
// For each write that is allowed, the same write without one permission is refused.
//
// What FieldPermissions promise, and the tests that hold it, here and elsewhere:
//
//	 1  an entry has a name that nobody holds: TestRefusedEntries, TestPrepare, TestCheck (overlay)
//	 2  nobody grants, binds or delegates it without holding it: TestGrantingEntries, TestPoliciesOfEntries, TestDelegatesOfEntries (delegation)
//	 3  one object for a resource: TestRefusedEntries, TestFieldPermission
//	 4  none at or around what the author excludes: TestCheck, TestAuthorExcludesInside, TestStatusOfEntries, TestEntriesOfCustomResources
//	 5  nothing inside an exclusion opens it: TestInsideExclusions, TestNothingIncludedOpens
//	 6  who holds the verb already is named: TestAuthorIsWarned, TestHolders, TestPluginFieldPermission
//	 7  who is not held is named: TestHolders, TestEntriesAndDefinitions, TestPluginFieldPermission
//	 8  who opens a field, and that it is seen: TestWritersOfFieldPermissions, TestFieldRoles, TestOpenedFields, TestAuthorIsWarned
//	 9  controllers bypass, and nobody else: TestControllersBypassEntries, TestBypassOfEntries, TestFieldRoles, TestClusterGoesOn
//	10  nodes create mirror pods: TestFieldRoles, TestClusterGoesOn
//	11  what must stay open is refused; the cluster goes on with the rest closed: TestNeverExcluded, TestRefusedExclusions, TestClusterGoesOn
//	12  nobody locks out the repair: TestNeverExcluded, TestPrepare
//	13  Audit by default, and what it counted: TestDefaults, TestAuditedEntries
//	14  a server that has read nothing: TestEntriesNotRead, TestEntriesOfTheStart, TestWaitForFieldPermissions, TestPeersWithEntries
//	15  members of system:masters are never asked: TestMastersAreNotHeld, TestPrivilegedAreNotLookedUp
//	16  a definition that changes: TestDefinitionWarnings, TestRetyped, TestEntriesAndDefinitions
//	17  entries take no parameter, so they ask no verb for each key: TestCheck
//	18  scale: TestEntriesOfBuiltinScale, TestBuiltinExclusionHolds
//	19  bindings of pods: TestRefusedExclusions
//	20  entries hold where a definition excludes nothing, metadata too: TestEntriesSeeEveryPlace, TestEntriesOfCustomResources, TestMetadataOfEveryKind
//	21  aliases: TestServerEffects, TestClosedFieldsOfRandomObjects
//	22  what the server fills in is not charged: TestServerEffects, TestClosedFieldsOfRandomObjects, TestBuiltinOtherFields, TestOtherFields
//	23  other versions: TestEntriesInAnotherBuiltinVersion, TestEntriesInStoredVersion, TestEntriesInConvertedVersion, TestEntriesAreConverted
//	24  rollback by an annotation: TestEntriesAndRollback, TestEntriesAndTemplateGeneration
//	25  TestTemplateExclusionHolds, TestTemplateInModeAudit, TestRevisionsOfTemplates, TestTemplatesOfTwo, TestPodTemplates, TestTemplates, TestTemplatesOfAnyKind
//	26  other fields with the same effect: TestAlsoReachable, TestReachableBounds, TestLintFiles
//	27  who writes a field for others: TestWriters, TestIndirectWarnings, TestIndirectWriters
//	28  deletion sets its finalizers: TestDeletionIsNotHeld, TestClusterGoesOn
//	29  values and not existence: TestDeletionIsNotHeld, TestOtherFields
//	30  lists whose elements have no identity: TestCheck, TestEntriesOfOperators
//	31  unknown fields: TestEntriesOfCustomResources, TestEntriesOfOperators
//	32  labels, annotations, fields of the system: TestRefusedEntries, TestCheck
//	33  mutating webhooks are named: TestPluginFieldPermission
//	34  clients that do not know the field are named, and the refusal says so: TestRefusalTellsRemoval, TestExclusionHolds, TestDroppers, TestPluginFieldPermission
//	35  aggregated APIs: TestStatusOfEntries, TestEntriesAndDefinitions
//	36  a definition that is made again: TestRecreatedDefinition
//	37  a request is judged by what was in force when it began: TestEntriesOfTheStart, TestPeersWithEntries
//	38  an edit compiles one kind again; bounds: TestEntriesByResource, TestCompiledOncePerEntries, TestCheck
//	39  entries are not published: TestEntriesAreNotPublished
//	40  a resource without entries pays nothing: TestEntriesCostNothingElsewhere
//	41  Audit grants the names and refuses nothing: TestAuditMode, TestAuditModeBesideOthers, TestAuditedEntries
//	42  the refusal names the object: TestExclusionHolds, TestBuiltinExclusionHolds
//	43  an entry is no declaration: TestEntryIsNoDeclaration
//	44  neutral permissions stay; a log is judged anew: TestEntriesAndNeutral, TestSelects, TestPluginFieldPermission
//	45  sudo of a tenant has no wildcard, and the controller reports what it does not reach: TestSudoIsHeld, TestClosed
package fieldpermission
