/* One slot on its server, and the scripts that work on it: src/store/redis/*.lua. Each of them runs
 * in one step, there and here. What they do is in transitions.txt, case by case, and both are held
 * to it. Words in capitals behind `ifdef` are faults to seed: see check.py. */

#define MOST 3
#ifndef CLIENTS
#define CLIENTS MOST
#endif

/* What stands in the slot: the token of client 1 to 3, or one of these. */
#define FREE 0
#define BROKEN 4   /* what break puts in the place of a token */
#define OTHER 5    /* the token of a client that does not know the queue */
#define NO_LOCK 6  /* a value of another type */

#ifndef TTL
#define TTL 3      /* of a lease, in ticks of the clock */
#endif
#define ENDLESS 99
#ifndef FULL
#define FULL 2     /* how long a waiter that has shown up counts as present */
#endif
#define SOON 1     /* how long one that was woken does: a second */
#define NOWHERE 9  /* no place in the queue */

mtype = { entered, taken, behind, open, young, renewed, restored, missing, passed, foreign,
        done, other };
mtype = { go, near };
mtype = { none, seen, due_later, due_now, open_now, open_over };

byte slot, ttl;
byte fence;             /* 0: there is none */
byte hour = 1;          /* the server's time, as far as fences need it */
mtype mark = none;      /* of a mixed fleet */
bit is_young;           /* the server is younger than the grace */
bit alone;              /* the hash slot is being moved: scripts get the slot's own key */

/* The queue and its presence list. Arrivals are remembered by the waiters themselves, too. */
byte arrival[MOST + 1];
bit queued[MOST + 1];
byte presence[MOST + 1];
bit listens[MOST + 1];  /* by its name: it waits for messages, or polls */
bit hears[MOST + 1];    /* it is at its channel */
mtype mail[MOST + 1];

/* What the last script answered. None of this is kept from one step to the next. */
hidden mtype answer;
hidden byte holder, place, waiters;
hidden byte first, w, at;
hidden byte self, mine, gap;

/* queue.lua */

inline forget(who) {
    queued[who] = 0;
    presence[who] = 0
}

inline tell(who, word) {
#ifdef MESSAGES
    mail[who] = word
#else
    skip  /* whoever rests may ask at any time, so a message could add nothing */
#endif
}

inline head_of_queue() {
    first = 0;
    for (w : 1 .. CLIENTS) {
        if
        :: queued[w] && (first == 0 || arrival[w] < arrival[first]) -> first = w
        :: else
        fi
    }
}

inline first_present() {
    do
    :: head_of_queue();
       if
       :: first == 0 || presence[first] > 0 -> break
       :: else -> forget(first)
       fi
    od
}

inline wake_first(me) {
    do
    :: first_present();
       if
       :: first == 0 || first == me || !listens[first] -> break
       :: else
       fi;
       if
       :: hears[first] ->
          tell(first, go);
          if
          :: presence[first] > SOON -> presence[first] = SOON
          :: else
          fi;
          break
       :: else -> forget(first)
       fi
    od
}

/* fence.lua */

inline next_fence() {
#ifdef FENCE_STARTS_AGAIN
    fence++
#else
    if
    :: fence + 1 > hour -> fence++
    :: else -> fence = hour
    fi
#endif
}

/* enter.lua */

inline find_place(me) {
    place = 0;
    for (w : 1 .. CLIENTS) {
        if
        :: queued[w] && arrival[w] < arrival[me] -> place++
        :: else
        fi
    }
}

inline stay(me, waits) {
    if
    :: waits && !alone ->
       if
       :: arrival[me] == 0 ->
          at = 0;
          for (w : 1 .. CLIENTS) {
              if
              :: arrival[w] > at -> at = arrival[w]
              :: else
              fi
          }
          arrival[me] = at + 1
       :: else
       fi;
       queued[me] = 1;
       presence[me] = FULL;
       find_place(me)
    :: else -> place = NOWHERE
    fi
}

/* Whether the slot is left to clients that do not know the queue. */
inline look_for_gap() {
    gap = 0;
    if
    :: mark == open_now -> gap = 1
    :: mark == open_over -> mark = due_later
    :: mark == seen -> mark = due_now
    :: mark == due_now -> mark = open_now; gap = 1
    :: else
    fi
}

inline enter(me, waits, minds_age, holds_back) {
    answer = entered;
    holder = slot;
    place = NOWHERE;
    first = 0;
    self = (waits -> me : 0);
    if
#ifdef ENTRY_OVERWRITES
    :: false
#else
    :: holder != FREE && holder != me ->
       if
       :: !alone && holder >= OTHER -> mark = seen
       :: else
       fi;
       stay(me, waits);
       answer = taken
#endif
    :: holder == FREE && (holds_back || (minds_age && is_young)) ->
       stay(me, waits);
       answer = young
    :: holder == FREE && !(holds_back || (minds_age && is_young)) && !alone ->
#ifndef NO_QUEUE
       first_present();
#endif
       if
       :: first != 0 && first != self ->
          stay(me, waits);
          wake_first(self);
          if
          :: first != 0 && first != self ->
             answer = behind;
             if
             :: waits -> find_place(me)
             :: else -> place = NOWHERE
             fi
          :: else
          fi
       :: else
       fi;
       if
       :: answer == entered && first != 0 ->
          look_for_gap();
          if
          :: gap -> stay(me, waits); answer = open
          :: else
          fi
       :: else
       fi
    :: else
    fi;
    if
    :: answer == entered ->
       if
       :: first != 0 -> forget(self)
       :: else
       fi;
       if
       :: !alone -> next_fence()
       :: else
       fi;
       slot = me;
       ttl = TTL
    :: else
    fi
}

/* renew.lua */

/* `own` is the fence of the entry. */
inline renew(me, restore, own) {
    holder = slot;
    if
#ifdef RENEWAL_WITHOUT_COMPARE
    :: holder != FREE -> ttl = TTL; answer = renewed
#else
    :: holder == me -> ttl = TTL; answer = renewed
    :: holder != FREE && holder != me -> answer = foreign
#endif
    :: holder == FREE && !restore -> answer = missing
    :: holder == FREE && restore && !alone && fence > own -> answer = passed
    :: holder == FREE && restore && (alone || fence <= own) ->
       slot = me;
       ttl = TTL;
       answer = restored
    fi
}

/* release.lua */

inline free_slot() {
    slot = FREE;
    ttl = 0
}

#if defined(SILENT_RELEASE)
#define WAKES(frees, leaves) 0
#elif defined(SILENT_LEAVE)
#define WAKES(frees, leaves) (frees)
#else
#define WAKES(frees, leaves) ((frees) || (leaves))
#endif

/* `own` is the fence of the entry that is given back, or 0. */
inline release(me, waits, own) {
    holder = slot;
#if defined(RELEASE_WITHOUT_COMPARE)
    mine = holder != FREE;
#elif defined(RETURNS_ANY_ENTRY)
    mine = holder == me;
#else
    mine = holder == me && (own == 0 || (!alone && fence == own));
#endif
    if
    :: mine -> free_slot()
    :: else
    fi;
    if
    :: waits && !alone -> forget(me)
    :: else
    fi;
    if
    :: WAKES(mine, waits && holder == FREE) && !alone -> wake_first(0)
    :: else
    fi;
    answer = (mine -> done : missing)
}

/* break.lua */

inline take_away(whose, force) {
    if
    :: slot != whose -> answer = other
    :: slot == whose ->
       answer = done;
#ifndef BREAK_FREES
       if
       :: force ->
#endif
          free_slot();
          if
          :: !alone ->
#ifndef BREAK_KEEPS_FENCE
             next_fence();
#endif
             wake_first(0)
          :: else
          fi
#ifndef BREAK_FREES
       :: !force && ttl == ENDLESS -> slot = BROKEN; ttl = TTL
       :: !force && ttl != ENDLESS -> slot = BROKEN
       fi
#endif
    fi
}

/* near.lua */

inline tell_who_is_near() {
    head_of_queue();
    at = first;
    if
    :: at != 0 ->
       if
       :: listens[at] && hears[at] -> tell(at, near)
       :: else
       fi;
       first = 0;
       for (w : 1 .. CLIENTS) {
           if
           :: queued[w] && w != at && (first == 0 || arrival[w] < arrival[first]) -> first = w
           :: else
           fi
       }
       if
       :: first != 0 && listens[first] && hears[first] -> tell(first, near)
       :: else
       fi
    :: else
    fi;
    answer = done
}

/* count.lua */

inline count_entry() {
    next_fence();
    answer = done
}

/* status.lua */

inline look() {
    holder = slot;
    waiters = 0;
    for (w : 1 .. CLIENTS) {
        if
        :: !alone && presence[w] > 0 -> waiters++
        :: else
        fi
    }
    answer = done
}

/* tidy.lua */

inline tidy() {
    free_slot();
    fence = 0;
    for (w : 1 .. CLIENTS) {
        forget(w)
    }
    mark = none;
    answer = done
}
