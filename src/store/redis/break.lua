-- Takes the slot away from one holder. KEYS: the slot, its fence, its queue, its presence list.
-- ARGV: the holder's token, the token to put in its place for as long as its lease lasts ('': free
-- the slot at once), ms for a lease that has no end, the fence's ttl in ms. Answers broken or other.
-- KEYS may be the slot alone, while its hash slot is being moved.
-- include: call.lua
-- include: queue.lua
-- include: fence.lua

if token_at(KEYS[1]) ~= ARGV[1] then return 'other' end
if ARGV[2] == '' then
  local now = time_now()
  -- By this the holder knows that the key must not be set again: renew.lua.
  if #KEYS > 1 then next_fence(KEYS[2], now, ARGV[4]) end
  free(KEYS[1])
  if #KEYS > 1 then wake_first(now, '') end
elseif call('PTTL', KEYS[1]) < 0 then
  call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
else
  call('SET', KEYS[1], ARGV[2], 'KEEPTTL')
end
return 'broken'
