-- The fence of the last entry, 0 where it is not known. Below 2^53, exact in a double.
local function last_fence(key)
  local last = redis.pcall('GET', key)
  return type(last) == 'string' and tonumber(last) or 0
end

-- The next one: at least the time, so that it still grows after it has expired.
local function next_fence(key, now, ttl)
  local fence = exact(math.max(last_fence(key) + 1, now))
  call('SET', key, fence)
  call('PEXPIRE', key, ttl)
  return fence
end
