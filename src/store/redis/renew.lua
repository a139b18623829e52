-- Extends the lease to a full ttl. A missing key (a server restarted empty, a failover) is set again
-- where ARGV[3] is the fence of the caller's entry, which it gives only while its deadline has not
-- passed. But if the fence has gone on since, the slot was taken away (break.lua) or entered, and is
-- not the caller's any more.
-- KEYS: the slot; to set it again its fence, too, but for a hash slot that is being moved. ARGV: token,
-- ttl in ms, fence or ''. Answers renewed, restored, missing, passed, or foreign: and the holder's
-- token.
-- include: call.lua
-- include: fence.lua

local holder = token_at(KEYS[1])
if holder == ARGV[1] then
  call('PEXPIRE', KEYS[1], ARGV[2])
  return 'renewed'
elseif holder then
  return 'foreign:' .. holder
end
if ARGV[3] == '' then return 'missing' end
if KEYS[2] and last_fence(KEYS[2]) > tonumber(ARGV[3]) then return 'passed' end
call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2])
return 'restored'
