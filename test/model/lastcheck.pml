/* Copyright The kube-granular Authors.
   SPDX-License-Identifier: Apache-2.0

   The last check of a write under a delegation, decision 0057: after the answer to the request that deletes
   the delegation, nothing is stored under it, and no request waits for ever.

   NO_WAIT     the deletion is answered at once
   EARLY       the write checks the delegation before it holds the lock
   WAIT_FIRST  the deletion waits before the server knows of it
   OWN         a write that deletes its own delegation waits before its own last check has ended */

#define WRITES 3

bool known = true; /* this server's index has it */
bool answered;     /* its deletion was answered */

/* A lock for many readers, or one writer. A writer that waits keeps new readers out. */
byte readers;
bool pending;

inline lock_shared() { atomic { !pending -> readers++ } }
inline unlock_shared() { readers-- }
inline wait_for_writes() {
	atomic { !pending -> pending = true };
	readers == 0;
	pending = false
}

/* A write that was authorized under the delegation. It may conflict with another one, and begin again. */
proctype write() {
	bool valid;
again:
#ifdef EARLY
	valid = known;
	lock_shared();
#else
	lock_shared();
	valid = known;
#endif
	if
	:: !valid -> unlock_shared() /* refused */
	:: valid ->
		if
		:: true -> unlock_shared(); goto again /* a conflict */
		:: true ->
			assert(!answered); /* the object is stored */
			unlock_shared()
		fi
	fi
}

inline delete_it() {
#ifdef WAIT_FIRST
	wait_for_writes();
	known = false;
#else
	known = false;
#ifndef NO_WAIT
	wait_for_writes();
#endif
#endif
	answered = true
}

/* A request that deletes the delegation, by another right. */
proctype deletion() {
	delete_it()
}

/* A request that deletes the delegation under which it acts: its own last check comes first. */
proctype deletion_of_own() {
	lock_shared();
	if
	:: !known -> unlock_shared()
	:: known ->
		known = false;
#ifdef OWN
		wait_for_writes();
		unlock_shared();
#else
		unlock_shared();
		wait_for_writes();
#endif
		answered = true
	fi
}

init {
	byte i;
	atomic {
		for (i : 1 .. WRITES) { run write() }
		if
		:: run deletion()
		:: run deletion_of_own()
		:: run deletion(); run deletion_of_own()
		fi
	}
}
