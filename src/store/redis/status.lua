-- How a slot stands. KEYS: the slot, its fence, its queue, its presence list.
-- Answers {holder's token, ms left, number of waiters that are present}; the token is empty while the
-- slot is free.
local holder = redis.pcall('GET', KEYS[1])
if type(holder) == 'table' and holder.err then
  if string.sub(holder.err, 1, 9) ~= 'WRONGTYPE' then return holder end
  holder = 'a value that is no lock'
end
local time = redis.call('TIME')
local now = string.format('%.0f', time[1] * 1000000 + time[2])
return {holder or '', redis.call('PTTL', KEYS[1]), redis.call('ZCOUNT', KEYS[4], now, '+inf')}
