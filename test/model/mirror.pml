/* Copyright The kube-granular Authors.
   SPDX-License-Identifier: Apache-2.0

   The mirror of one object, package pkg/mirror: requests to this server and the watch report the same
   changes, in any order. The mirror must have what the newest change that was reported to it says.

   RECREATE  the object may be created again after its removal, as for a mirror by name
   OLD       the index of policies before there was a mirror: it forgot a removal when the watch reported it
   NO_TOMB   a mirror without tombstones
   NO_SEEN   a mirror that does not ask what the watch has reached */

#define N 5 /* changes in storage */

mtype:change = { other, put, removal } /* other: of another object */

mtype:change change[N + 1];
bool waits[N + 1];    /* a request to this server made the change, and has not reported it yet */
byte stored;          /* the resource version of storage */
bool exists, existed;
byte watched;         /* the watch has reported all changes up to this version */

/* The mirror: the version of the object that it has, that of its tombstone, and the version that the watch
   has reached. 0 is none. */
byte held, tomb, seen;

byte newest; /* the newest change of the object that was reported */

#define max(a, b) (a > b -> a : b)

inline apply(version, gone) {
	if
	:: version < max(held, tomb) || (version == max(held, tomb) && !(gone))
	:: else ->
		tomb = 0;
		if
		:: gone ->
			held = 0;
			if
			:: version > seen -> tomb = version
			:: else
			fi
		:: else -> held = version
		fi
	fi
#ifdef NO_TOMB
	tomb = 0
#endif
}

/* A request reports its change before it is answered. */
inline observe(version, gone) {
#ifdef OLD
	if
	:: gone -> tomb = version; held = 0
	:: !(gone) && tomb == 0 && version > held -> held = version
	:: else
	fi
#else
	if
#ifndef NO_SEEN
	:: held == 0 && version <= seen
#endif
	:: else -> apply(version, gone)
	fi
#endif
}

inline event(version, gone) {
#ifdef OLD
	if
	:: gone -> held = 0; tomb = 0
	:: else -> observe(version, false)
	fi
#else
	seen = max(seen, version);
	apply(version, gone)
#endif
}

inline reach(version) {
#ifdef OLD
	skip
#else
	seen = max(seen, version);
	if
	:: tomb <= seen -> tomb = 0
	:: else
	fi
#endif
}

/* A list has all that was stored at its version: listed is the version of the object in it. */
inline list(version, listed) {
#ifdef OLD
	if
	:: listed > held && tomb == 0 -> held = listed
	:: listed == 0 && held <= version -> held = 0
	:: else
	fi;
	if
	:: tomb <= version -> tomb = 0
	:: else
	fi
#else
	if
	:: max(held, tomb) > max(version, seen) /* a request changed it after the list */
	:: else -> held = listed
	fi;
	reach(version)
#endif
}

#define agrees (held == ((newest > 0 && change[newest] == put) -> newest : 0))

active proctype storage() {
	do
	:: atomic { stored < N ->
		stored++;
		if
		:: change[stored] = other
		:: exists -> change[stored] = put
		:: exists -> change[stored] = removal; exists = false
#ifdef RECREATE
		:: !exists -> change[stored] = put; exists = true
#else
		:: !existed -> change[stored] = put; exists = true; existed = true
#endif
		fi;
		if
		:: change[stored] != other -> waits[stored] = true
		:: true /* another server made it */
		fi }
	:: stored == N -> break
	od
}

inline report(version) {
	atomic { waits[version] ->
		waits[version] = false;
		newest = max(newest, version);
		observe(version, change[version] == removal);
		assert(agrees) }
}

active proctype requests() {
	do
	:: report(1)
	:: report(2)
	:: report(3)
	:: report(4)
	:: report(5)
	:: stored == N && !waits[1] && !waits[2] && !waits[3] && !waits[4] && !waits[5] -> break
	od
}

active proctype watch() {
	byte at, listed;
	do
	:: atomic { watched < stored ->
		watched++;
		if
		:: change[watched] != other ->
			newest = max(newest, watched);
			event(watched, change[watched] == removal)
		:: else -> reach(watched) /* an event of another object, or a bookmark */
		fi;
		assert(agrees) }
	:: atomic { /* the watch broke, and lists anew */
		select(at : watched .. stored);
		watched = at;
		listed = 0;
		do
		:: at == 0 || change[at] == removal -> break
		:: at > 0 && change[at] == put -> listed = at; break
		:: at > 0 && change[at] == other -> at--
		od;
		newest = max(newest, at);
		list(watched, listed);
		assert(agrees);
		at = 0; listed = 0 }
	:: watched == N -> break
	od
}
