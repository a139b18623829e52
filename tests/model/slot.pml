/* The protocol of a slot: three clients with their wardens and command trees, a clock, and all that
 * may go wrong. See README for what is checked, check.py for the sizes and faults of each check.
 *
 * Nobody is ever in time: any process may be slow for as long as it likes, which is also what a
 * keeper that is stopped looks like. All that keeps time is the warden, that is the clock here: it
 * ends the tree so early that it is gone when the lease is over. */

#ifndef LOSSES
#define LOSSES 0    /* requests or answers that get lost */
#endif
#ifndef LATES
#define LATES 0     /* so many of the lost requests arrive late, when nobody waits for them */
#endif
#ifndef CRASHES
#define CRASHES 0   /* keepers killed */
#endif
#ifndef BREAKS
#define BREAKS 0    /* calls of `sandbox-lock break` */
#endif
#ifndef RESTARTS
#define RESTARTS 0  /* of the server, empty */
#endif
#ifndef UNSAFE
#define UNSAFE 0    /* entries that too few replicas have, and that are given back */
#endif
#ifndef RENEWALS
#define RENEWALS 2  /* of all leases: commands have an end */
#endif
#ifndef FORCE
#define FORCE 0     /* breaks free the slot at once */
#endif
#define GRACE 2     /* how long a server counts as young */
#define DYING 1     /* how long a tree may go on after its KILL */
#ifndef MARGIN
#define MARGIN 2    /* how long before the lease's end the KILL comes: DYING, and a tick */
#endif

#include "server.pml"

/* A client and its warden. */
bit gone[MOST + 1];    /* it has nothing more to do, or its keeper was killed */
bit dead[MOST + 1];    /* its keeper was killed */
bit runs[MOST + 1];     /* its command tree is there */
byte left[MOST + 1];   /* of its lease, as its warden counts */
byte asked[MOST + 1];  /* a lease's time, as it counts from before the last request */
byte dying[MOST + 1];  /* ticks until a tree that got its KILL is gone, and one */
bit granted[MOST + 1]; /* the server gave it the lease, and it has heard or will hear of it */
bit cut[MOST + 1];     /* its connection is broken */
byte own[MOST + 1];       /* the fence of its entry */
byte rests[MOST + 1];     /* ticks before it asks again */
bit knows_age[MOST + 1];  /* it knows that the server is older than the grace */

byte losses = LOSSES, lates = LATES, crashes = CRASHES, breaks = BREAKS, restarts = RESTARTS;
byte unsafe = UNSAFE, renewals = RENEWALS;
#ifdef LEAVERS
#define LEAVING 1   /* who waits may give up: its patience is over, or a signal came */
byte leavers = LEAVERS;
#else
#define LEAVING 0
byte leavers = 1;
#endif

/* A request that arrives late. */
mtype = { entry, renewal, restoration, release_ };
mtype late;
byte late_from, late_own;
bit late_waits, late_minds_age;

/* What is only looked at by the checks. */
byte last_fence;
bit broken[MOST + 1];  /* the lease was taken away */
hidden byte was, was_ttl;
hidden byte overtakes;

byte youth;  /* ticks until the server is old */
byte came;   /* the last client that did */

#define over (all_gone && slot == FREE && nobody_runs && late == 0)
#define all_gone (gone[1] && gone[2] && gone[3])
#define nobody_runs (!runs[1] && !runs[2] && !runs[3])
/* Whose slot was freed by force may run on until it notices. */
#define by_right(i) (runs[i] && !(FORCE && broken[i]))
#define nobody_has_it (!by_right(1) && !by_right(2) && !by_right(3))
/* The server has lost its lease, and it has not set it again. */
#define forgotten(i) (granted[i] && !dead[i] && slot == FREE)
#define safe_to_restart(i) (!runs[i] && !granted[i] || slot == i && !dead[i] && dying[i] == 0)

/* The scripts with what must hold of them, whoever asks. */

inline note_before(me, waits) {
    was = slot;
    was_ttl = ttl;
    overtakes = 0;
    for (w : 1 .. CLIENTS) {
        if
        :: w != me && queued[w] && presence[w] > 0 && hears[w] &&
           !(waits && arrival[me] != 0 && arrival[me] < arrival[w]) -> overtakes = 1
        :: else
        fi
    }
}

/* Nobody's slot but one's own is changed. */
inline check_after(me) {
    assert(was == FREE || was == me || (slot == was && ttl == was_ttl))
}

#define MINDS_AGE(me) (!knows_age[me])
#define FORMER(me) (10 + me)  /* a token of its own, if it took a new one for each try */

inline do_enter(me, waits, minds_age) {
    note_before(me, waits);
    enter(me, waits, minds_age, 0);
    check_after(me);
    assert(holder != FORMER(me));
    if
    :: answer == entered ->
       assert(was == me || !overtakes);
       assert(fence > last_fence);
       last_fence = fence;
       broken[me] = 0
    :: else
    fi
}

/* What was taken away from a tree that runs stays so. */
inline check_taken(me) {
    assert(!broken[me] || !runs[me] || answer == foreign || answer == missing || answer == passed)
}

inline do_renew(me, restore, its_own) {
    note_before(me, 0);
    renew(me, restore, its_own);
    check_after(me)
}

inline do_release(me, waits, its_own) {
    note_before(me, 0);
    release(me, waits, its_own);
    check_after(me);
    assert(was != me || slot == me || !runs[me])  /* it goes on without its slot */
}

/* An answer does not come, so the connection is given up. */
inline lose_answer(me) {
    losses--;
    cut[me] = 1;
    hears[me] = 0;
    asked[me] = 0
}

/* A request does not come through; or it does, but late, when nobody waits for it any more. */
inline lose(what, me, waits) {
    lose_answer(me);
    if
    :: lates > 0 && late == 0 -> lates--; late = what; late_from = me; late_waits = waits;
       late_minds_age = MINDS_AGE(me); late_own = own[me]
    :: true
    fi
}

/* Before each request: connect if need be. The deadline counts from here. */
inline prepare(me, waits) {
    if
#ifdef NO_HOLD_BACK
    :: cut[me] -> cut[me] = 0
#else
    :: cut[me] -> cut[me] = 0; knows_age[me] = 0
#endif
    :: else
    fi;
    rests[me] = 0;
#ifndef EARS_LATE
    hears[me] = waits;
#endif
    asked[me] = TTL
}

/* So that states which differ in nothing else are one. */
inline forget_arrival(me) {
    if
    :: arrival[me] != 0 ->
       for (w : 1 .. CLIENTS) {
           arrival[w] = (arrival[w] > arrival[me] -> arrival[w] - 1 : arrival[w])
       }
       arrival[me] = 0
    :: else
    fi
}

inline end(me) {
    dead[me] = dead[me] && !gone[me];
    runs[me] = 0;
    left[me] = 0;
    dying[me] = 0;
    own[me] = 0;
    granted[me] = 0
}

/* Who rests asks again by its timer; with messages alone, when it is told to. */
#ifdef MESSAGES
#define MAY_ASK(me) (!waits || !listens[me] || mail[me] == go)
#else
#define MAY_ASK(me) (rests[me] == 0 || cut[me])
#endif

#ifdef RESTORES_AFTER_DEADLINE
#define MAY_RESTORE(me) true
#else
#define MAY_RESTORE(me) (left[me] > 0)
#endif

#ifdef NO_REST
#define RESTS 0
#else
#define RESTS GRACE
#endif

proctype client(byte me) {
    bit waits;
    mtype said;

    {
        /* It comes when it likes; but as all are alike, it is enough to look at those runs in which
           they come in order. */
        atomic {
            came = me;
            if
            :: me < CLIENTS -> run client(me + 1)
            :: else
            fi
        };
ask:
        if
        :: atomic { MAY_ASK(me) -> prepare(me, waits); listens[me] = waits; mail[me] = 0 }
        :: atomic { leavers > 0 -> leavers = leavers - LEAVING; goto leave }
        fi;
        if  /* the request is on its way */
        :: d_step {
             !cut[me] ->
             do_enter(me, waits, MINDS_AGE(me));
             said = answer;
             granted[me] = (said == entered);
             own[me] = (said == entered -> fence : 0);
             asked[me] = (said == entered -> asked[me] : 0)
           }
        :: atomic { losses > 0 && !cut[me] -> lose(entry, me, waits); goto ask }
        :: atomic { cut[me] -> asked[me] = 0; goto ask }
        fi;
        if  /* its answer is */
        :: atomic {
             said == entered ->
             said = 0;
             knows_age[me] = !cut[me];
             if
             :: unsafe > 0 -> unsafe--; granted[me] = 0; goto give_back
             :: true
             fi;
#ifdef DEADLINE_FROM_ANSWER
             left[me] = TTL;
#else
             left[me] = asked[me];
#endif
             asked[me] = 0;
             waits = 0;
             hears[me] = 0;
             forget_arrival(me);
             if
             :: left[me] > MARGIN ->
                assert(nobody_has_it || (FORCE && broken[me]));
                runs[me] = 1;
                goto hold
             :: else -> end(me); goto leave  /* nothing is started so late */
             fi
           }
        :: atomic {
             said != entered ->
             knows_age[me] = !cut[me];
             asked[me] = 0;
             if
             :: said == young -> rests[me] = RESTS  /* by then the server is old */
             :: said != young ->
#ifdef EARS_LATE
                hears[me] = waits;
#endif
                waits = 1
             fi;
             said = 0;
             goto ask
           }
        :: atomic {
             losses > 0 ->
             lose_answer(me);
             said = 0;
             granted[me] = 0;
             own[me] = 0;
#ifdef NEW_TOKEN
             slot = (slot == me -> FORMER(me) : slot);
#endif
             goto ask
           }
        fi;

give_back:  /* and try again */
        asked[me] = 0;
        if
        :: d_step { !cut[me] -> do_release(me, waits, own[me]); own[me] = 0 }
        :: atomic { losses > 0 && !cut[me] -> lose(release_, me, waits); own[me] = 0 }
        :: atomic { cut[me] -> own[me] = 0 }
        fi;
        goto ask;

hold:
        do
        :: atomic { runs[me] && dying[me] == 0 -> end(me); goto leave }  /* it ended by itself */
        :: atomic { !runs[me] -> goto out }  /* it was killed: the lease is left to lapse */
        :: atomic {
             runs[me] && (cut[me] || (renewals > 0 && left[me] < TTL)) ->
             renewals = renewals - !cut[me];
             prepare(me, 0)
           };
           if
           :: d_step { !cut[me] -> do_renew(me, 0, 0); check_taken(me); said = answer }
           :: atomic { losses > 0 && !cut[me] -> lose(renewal, me, 0); goto hold }
           :: atomic { cut[me] -> asked[me] = 0; goto hold }
           fi;
           if
           :: atomic {
                said == missing && MAY_RESTORE(me) ->
                said = 0;
                assert(left[me] > 0);
                prepare(me, 0)
              };
              if
              :: d_step { !cut[me] -> do_renew(me, 1, own[me]); check_taken(me); said = answer }
              :: atomic { losses > 0 && !cut[me] -> lose(restoration, me, 0); goto hold }
              :: atomic { cut[me] -> asked[me] = 0; goto hold }
              fi
           :: !(said == missing && MAY_RESTORE(me))
           fi;
           if
           :: atomic {
                said == renewed || said == restored ->
                said = 0;
                if
                :: runs[me] && dying[me] == 0 -> left[me] = asked[me]
                :: else
                fi;
                asked[me] = 0
              }
           :: atomic { said == missing -> said = 0; asked[me] = 0 }
           :: atomic { said == foreign || said == passed -> said = 0; asked[me] = 0; goto lost }
           :: atomic { losses > 0 -> lose_answer(me); said = 0 }
           fi
        od;

lost:   /* the tree is ended, by the lease's end at the latest, and nothing released */
        if
        :: atomic { runs[me] -> end(me) }
        :: !runs[me]
        fi;
        goto out;

leave:  /* a connection that is broken is made again first */
        if
        :: d_step { do_release(me, waits, 0); hears[me] = 0 }
        :: atomic { losses > 0 -> lose(release_, me, waits); goto leave }
        :: atomic { losses > 0 -> lose(release_, me, waits) }
        fi
    } unless { dead[me] };

out:
    atomic {
        waits = 0;
        said = 0;
        gone[me] = 1;
        rests[me] = 0;
        knows_age[me] = 0;
        cut[me] = 0;
        broken[me] = 0;
#ifdef PRESENCE_ENDS
        /* Its machine is gone without a word, so the server takes it for being there. */
        hears[me] = hears[me] && dead[me];
#else
        hears[me] = 0;
#endif
        listens[me] = hears[me];
        asked[me] = 0;
        mail[me] = 0;
        if
        :: !runs[me] -> end(me)
        :: else  /* its warden goes on */
        fi;
        if
        :: !queued[me] -> forget_arrival(me)
        :: else
        fi
    }
}

#ifdef ORPHANS
#define HAS_WARDEN(i) (!dead[i])
#else
#define HAS_WARDEN(i) 1
#endif

/* A tick of the clock. The warden sends KILL when it is time to. */
inline tick() {
    for (i : 1 .. CLIENTS) {
        if
        :: runs[i] && dying[i] == 1 -> end(i)
        :: runs[i] && dying[i] == 0 && left[i] <= MARGIN && HAS_WARDEN(i) -> dying[i] = DYING + 1
        :: else
        fi;
        left[i] = (left[i] > 0 -> left[i] - 1 : 0);
        asked[i] = (asked[i] > 0 -> asked[i] - 1 : 0);
        rests[i] = (rests[i] > 0 -> rests[i] - 1 : 0);
        dying[i] = (dying[i] > 1 -> dying[i] - 1 : dying[i]);
#if defined(PRESENCE_ENDS) && !defined(DEAD_KEEP_PLACE)
        presence[i] = (presence[i] > 0 -> presence[i] - 1 : 0);
#endif
        assert(!runs[i] || left[i] > 0)
    }
    i = 0;
    if
    :: ttl > 1 -> ttl--
    :: else -> slot = FREE; ttl = 0
    fi;
    youth = (youth > 0 -> youth - 1 : 0);
    is_young = (youth > 0)
}

inline restart() {
    slot = FREE;
    ttl = 0;
    fence = 0;
    hour = last_fence + 1;  /* its clock has gone on */
    late = 0;
    late_from = 0;
    late_own = 0;
    late_waits = 0;
    late_minds_age = 0;
    youth = GRACE;
    is_young = 1;
    for (i : 1 .. CLIENTS) {
        forget(i);
        hears[i] = 0;
        cut[i] = !gone[i]
    }
    i = 0
}

inline arrive_late() {
    if
    :: late == entry -> do_enter(late_from, late_waits, late_minds_age)
    :: late == renewal -> do_renew(late_from, 0, 0)
    :: late == restoration -> do_renew(late_from, 1, late_own)
    :: late == release_ -> do_release(late_from, late_waits, late_own)
    fi;
    late = 0;
    late_from = 0;
    late_own = 0;
    late_waits = 0;
    late_minds_age = 0
}

inline do_break(i) {
    note_before(i, 0);
    take_away(i, FORCE);
    check_after(i);
    broken[i] = (answer == done)
}

/* A keeper may be killed, a lease taken away. */
#define FATE(i) \
    :: d_step { \
         crashes > 0 && i <= came && !gone[i] && !dead[i] && !forgotten(i) -> \
         crashes--; dead[i] = 1 \
       } \
    :: d_step { breaks > 0 && slot == i -> breaks--; do_break(i) }

#ifdef BACK_TOO_LATE
#define ALL_BACK true
#else
#define ALL_BACK (!forgotten(1) && !forgotten(2) && !forgotten(3))
#endif

proctype world() {
    byte i;

    do
#ifndef MESSAGES
    /* Time goes on, but who holds a lease when the server restarts is back within the grace. */
    :: d_step { !over && (youth != 1 || ALL_BACK) -> tick() }
#endif
    :: over -> break
    :: d_step { late != 0 -> arrive_late() }
    FATE(1)
    FATE(2)
    FATE(3)
    :: d_step {
         restarts > 0 && safe_to_restart(1) && safe_to_restart(2) && safe_to_restart(3) ->
         restarts--;
         restart()
       }
    od
}

init {
    atomic {
        gone[MOST] = (CLIENTS < MOST);
        run world();
        run client(1)
    }
}

#ifdef PROGRESS
ltl progress { <> all_gone }
#endif
