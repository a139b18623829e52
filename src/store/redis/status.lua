-- How a slot stands. KEYS: the slot, its fence, its queue, its presence list.
-- Answers {holder's token, ms left, number of waiters that are present}; the token is empty while the
-- slot is free. KEYS may be the slot alone, while its hash slot is being moved.
-- include: time.lua

local holder = redis.pcall('GET', KEYS[1])
if type(holder) == 'table' and holder.err then
  if string.sub(holder.err, 1, 9) ~= 'WRONGTYPE' then return holder end
  holder = 'a value that is no lock'
end
local waiters = KEYS[4] and redis.call('ZCOUNT', KEYS[4], exact(time_now()), '+inf') or 0
return {holder or '', redis.call('PTTL', KEYS[1]), waiters}
