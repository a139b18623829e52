-- The next fence of a slot: at least the time, so that it still grows after it has expired. Below 2^53,
-- exact in a double.
local function next_fence(key, now, ttl)
  local last = redis.pcall('GET', key)
  last = type(last) == 'string' and tonumber(last) or 0
  local fence = exact(math.max(last + 1, now))
  call('SET', key, fence)
  call('PEXPIRE', key, ttl)
  return fence
end
