-- Frees the slot only while this token still holds it.
-- KEYS: the slot. ARGV: token. Answers the number of keys deleted.
local holder = redis.pcall('GET', KEYS[1])
if holder == ARGV[1] then return redis.call('DEL', KEYS[1]) end
if type(holder) == 'table' and holder.err and string.sub(holder.err, 1, 9) ~= 'WRONGTYPE' then
  return holder
end
return 0
