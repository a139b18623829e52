-- Extends the lease to a full ttl. A missing key (a server restarted empty, a failover) is set again
-- where ARGV[3] is '1'; the caller asks for that only while its deadline has not passed.
-- KEYS: the slot. ARGV: token, ttl in ms, restore. Answers renewed, restored, missing, or foreign: and
-- the holder's token.
local holder = redis.pcall('GET', KEYS[1])
if holder == ARGV[1] then
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
  return 'renewed'
elseif not holder then
  if ARGV[3] ~= '1' then return 'missing' end
  redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2])
  return 'restored'
elseif type(holder) == 'table' and holder.err and string.sub(holder.err, 1, 9) ~= 'WRONGTYPE' then
  return holder
end
return 'foreign:' .. (type(holder) == 'string' and holder or 'a value that is no lock')
