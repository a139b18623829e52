-- Frees the slot only while this token still holds it, and leaves the queue; wakes who is next.
-- KEYS: the slot, its fence, its queue, its presence list. ARGV: token, waiter's name or '', fence of
-- an entry or ''. An entry that is given back may be followed by another one with the same token,
-- which such a release, if it comes late, must not free: so that is told by its fence.
-- Answers the number of keys deleted. KEYS may be the slot alone, while its hash slot is being moved;
-- then no entry is given back.
-- include: call.lua
-- include: queue.lua
-- include: fence.lua

local alone = #KEYS == 1
local holder = token_at(KEYS[1])
local mine = holder == ARGV[1]
if mine and ARGV[3] ~= '' then mine = not alone and last_fence(KEYS[2]) == tonumber(ARGV[3]) end
if mine then free(KEYS[1]) end
if alone then return mine and 1 or 0 end
local waited = ARGV[2] ~= ''
if waited then forget(ARGV[2]) end
-- Whoever leaves may have been the one who was woken.
if mine or (waited and not holder) then wake_first(time_now(), '') end
return mine and 1 or 0
