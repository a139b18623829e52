-- Extends the lease to a full ttl. A missing key (a server restarted empty, a failover) is set again
-- where ARGV[3] is '1'; the caller asks for that only while its deadline has not passed.
-- KEYS: the slot. ARGV: token, ttl in ms, restore. Answers renewed, restored, missing, or foreign: and
-- the holder's token.
-- include: call.lua

local holder = token_at(KEYS[1])
if holder == ARGV[1] then
  call('PEXPIRE', KEYS[1], ARGV[2])
  return 'renewed'
elseif not holder then
  if ARGV[3] ~= '1' then return 'missing' end
  call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2])
  return 'restored'
end
return 'foreign:' .. holder
