-- Enters the slot if nobody holds it. Another client sees SET key token NX PX ttl, no more.
-- KEYS: the slot, its fence. ARGV: token, ttl in ms, fence's ttl in ms, grace in s (0: none).
-- Answers {'entered', fence} or {'taken', holder's token} or {'young'}: a server that has just
-- started may have lost its keys, so those who held them get the grace to set them again first.
local holder = redis.pcall('GET', KEYS[1])
if type(holder) == 'table' and holder.err then
  if string.sub(holder.err, 1, 9) ~= 'WRONGTYPE' then return holder end
  holder = ''
end
if holder == ARGV[1] then
  -- Our own: the answer to an earlier try was lost on the way.
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
elseif holder then
  return {'taken', holder}
else
  local grace = tonumber(ARGV[4])
  -- A server counts as saved when it starts, and LASTSAVE is far cheaper than INFO.
  local saved = grace > 0 and redis.pcall('LASTSAVE')
  local old = type(saved) == 'number' and redis.call('TIME')[1] - saved > grace
  if grace > 0 and not old then
    -- The right to INFO is optional.
    local info = redis.pcall('INFO', 'server')
    local uptime = type(info) == 'string' and tonumber(string.match(info, 'uptime_in_seconds:(%d+)'))
    -- A difference of whole seconds: it says 1 of a server that may be hardly older than nothing.
    if uptime and uptime <= grace then return {'young'} end
  end
  redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2])
end
-- At least the time, so that it still grows after it has expired. Below 2^53, exact in a double.
local now = redis.call('TIME')
local last = redis.pcall('GET', KEYS[2])
last = type(last) == 'string' and tonumber(last) or 0
local fence = string.format('%.0f', math.max(last + 1, now[1] * 1000000 + now[2]))
redis.call('SET', KEYS[2], fence, 'PX', ARGV[3])
return {'entered', fence}
