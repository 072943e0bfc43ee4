// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package export

// Limits are what the policies can't hold, or hold otherwise than a server that authorizes fields. They stand
// in the header of each file.
var Limits = []string{
	"Mutating webhooks and admission plugins: what they change counts as the caller's change, so the write may be refused. " +
		"So does what the server itself fills in, besides the usual metadata.",
	"Subjects: who has such a role by a binding that is not in this export may change nothing by it, until you export again. " +
		"Holders of all verbs (*) who are no subjects are free.",
	"Passing on: RBAC takes a subject for a holder of update. If it may also write roles or bindings by a role that is not in this " +
		"export, it can give update to others.",
	"Removal: without its policy, a role of this export allows every update. Remove the roles first.",
	"Versions: the subjects write a resource in one version, that of its policy. Other versions are refused.",
	"Other roles: a policy also restricts what a subject may change by roles that are not in this export. Export all roles of a " +
		"subject together: policies of two exports both hold.",
	"Deletes: whether a caller may delete is up to its role alone.",
	"Reads: the answer to an update has the whole object, also for a caller that may not get it.",
	"Fields of a later version stay closed until you export again, also those that a verb is for.",
	"Lists: if a role has no verb for the inside of a list, another order of its elements is a change. A verb for what is inside " +
		"a list without keys can't be exported. Of several taints, tolerations or routes with one key, change one at a time.",
	"Cost: a server refuses a write of an object with so many entries that an expression costs too much.",
	"Values: two forms of one value, such as 1G and 1000M, 1 and 1.0, or no list and an empty one, may count as equal.",
	"Managed fields: a caller may edit them.",
	"Excluded fields: they are closed only to the subjects of this export. In a new object, or a new element of a list, such a " +
		"field counts as changed also if it has its default.",
	"Creates: a create is judged as the change of an empty object, with what the server fills in.",
	"No limit of verbs in a request, no audit of single fields, and no command tells beforehand what is allowed.",
}
