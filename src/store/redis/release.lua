-- Frees the slot only while this token still holds it, and leaves the queue; wakes who is next.
-- KEYS: the slot, its fence, its queue, its presence list. ARGV: token, waiter's name or ''.
-- Answers the number of keys deleted. KEYS may be the slot alone, while its hash slot is being moved.
-- include: call.lua
-- include: queue.lua

local holder = token_at(KEYS[1])
local mine = holder == ARGV[1]
if mine then free(KEYS[1]) end
if #KEYS == 1 then return mine and 1 or 0 end
local waited = ARGV[2] ~= ''
if waited then forget(ARGV[2]) end
-- Whoever leaves may have been the one who was woken.
if mine or (waited and not holder) then wake_first(time_now(), '') end
return mine and 1 or 0
