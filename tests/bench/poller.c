// The floor that sandbox-lock is measured against: what any program must do that enters a slot in
// Redis, runs a command and leaves it again. No renewal, no signals, no deadline, hardly a message.
// Where the slot is taken it tries again every half a second, as clients without a queue do.
//
//     bench-poller HOST:PORT|SOCKET KEY COMMAND [ARG]...

#include <fcntl.h>
#include <hiredis/hiredis.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

static const char release[] =
    "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0";

static redisContext *connect_to(char *server) {
    char *colon = strrchr(server, ':');
    if (*server == '/' || colon == NULL) return redisConnectUnix(server);
    *colon = '\0';
    return redisConnect(server, atoi(colon + 1));
}

int main(int argc, char **argv) {
    if (argc < 4) return 64;
    redisContext *redis = connect_to(argv[1]);
    if (redis == NULL || redis->err != 0) return 69;
    fcntl(redis->fd, F_SETFD, FD_CLOEXEC);

    unsigned long long id[2];
    if (getrandom(id, sizeof id, 0) != sizeof id) return 71;
    char token[33];
    snprintf(token, sizeof token, "%016llx%016llx", id[0], id[1]);

    redisReply *reply;
    while ((reply = redisCommand(redis, "SET %s %s NX PX 1800000", argv[2], token)) != NULL &&
           reply->type == REDIS_REPLY_NIL) {
        freeReplyObject(reply);
        usleep(500000);
    }
    if (reply == NULL || reply->type == REDIS_REPLY_ERROR) return 69;
    freeReplyObject(reply);

    pid_t pid;
    int status = 0;
    if (posix_spawnp(&pid, argv[3], NULL, NULL, argv + 3, environ) != 0) return 127;
    waitpid(pid, &status, 0);

    reply = redisCommand(redis, "EVAL %s 1 %s %s", release, argv[2], token);
    if (reply == NULL || reply->type == REDIS_REPLY_ERROR) fputs("bench-poller: no release\n", stderr);
    freeReplyObject(reply);
    redisFree(redis);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
