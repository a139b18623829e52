-- Ends the script with an error that says on every server which right is missing; only Valkey 8
-- names it by itself. Before Redis 7 an error is a string, and those of redis.pcall begin with the
-- place where they happened.
local function refuse(command, err, key)
  local function says(words) return string.find(err, words, 1, true) end
  err = string.gsub(err, '^@user_script: %d+: %-?', '')
  if says('executing the script') or says('ACL failure') then
    if says('access') then
      err = "NOPERM no right to the key '" .. key .. "'"
    else
      err = "NOPERM no right to the command '" .. string.lower(command) .. "'"
    end
  end
  if redis.REDIS_VERSION then error({err = err}) end
  error(err, 0)
end

-- redis.call with such errors.
local function call(command, ...)
  local reply = redis.pcall(command, ...)
  if type(reply) == 'table' and reply.err then refuse(command, reply.err, ...) end
  return reply
end

-- Deletes a key. A time to live that is over does that at once, and PEXPIRE is needed anyway.
local function free(key) call('PEXPIRE', key, 0) end

-- The slot's token, false where it is free.
local function token_at(key)
  local reply = redis.pcall('GET', key)
  if type(reply) ~= 'table' or not reply.err then return reply end
  if string.sub(reply.err, 1, 9) ~= 'WRONGTYPE' then refuse('GET', reply.err, key) end
  return 'a value that is no lock'
end
