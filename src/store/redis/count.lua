-- Answers the next fence, where enter.lua had no more than the slot's key. KEYS: the fence. ARGV: its
-- ttl in ms.
-- include: call.lua
-- include: time.lua
-- include: fence.lua

return next_fence(KEYS[1], time_now(), ARGV[1])
