-- How a slot stands. KEYS: the slot, its fence, its queue, its presence list.
-- Answers {holder's token, ms left, number of waiters that are present}; the token is empty while the
-- slot is free. KEYS may be the slot alone, while its hash slot is being moved.
-- include: call.lua
-- include: time.lua

local holder = token_at(KEYS[1])
local now = time_now()
-- By ZRANGE, which the queue needs anyway: one right less than ZCOUNT.
local presence = KEYS[4] and call('ZRANGE', KEYS[4], 0, -1, 'WITHSCORES') or {}
local waiters = 0
for i = 2, #presence, 2 do
  if tonumber(presence[i]) >= now then waiters = waiters + 1 end
end
return {holder or '', call('PTTL', KEYS[1]), waiters}
