import io.agentscope.core.agent.RuntimeContext;
import io.agentscope.extensions.redis.RedisDistributedStore;
import io.agentscope.extensions.redis.sandbox.RedisSandboxExecutionGuard;
import io.agentscope.harness.agent.IsolationScope;
import io.agentscope.harness.agent.sandbox.SandboxExecutionGuard;
import io.agentscope.harness.agent.sandbox.SandboxIsolationKey;
import io.agentscope.harness.agent.sandbox.SandboxLease;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import redis.clients.jedis.RedisClient;
import redis.clients.jedis.UnifiedJedis;

/**
 * The harness's side of the tests: its own guards, on the Redis at a port of this host. It is told
 * what to do by lines of fields between tabs, and ends with its input:
 *
 * <pre>
 * guard NAME PREFIX TTL RETRY        a guard of the builder; times in ms, an empty field: the default
 * store NAME PREFIX                  the guard of a RedisDistributedStore
 * enter ID NAME SCOPE VALUE          in a thread of its own: "entered ID", "interrupted ID" or
 *                                    "failed ID REASON"
 * interrupt ID                       that thread
 * leave ID                           close the lease: "left ID"
 * crowd ID NAME SCOPE VALUE FILE     until there is a FILE.end: enter, write "start ID" and "end ID"
 *                                    to FILE, leave; then "left ID"
 * </pre>
 */
public final class GuardMain {
    private static final PrintStream OUT = new PrintStream(System.out, true, StandardCharsets.UTF_8);

    private final UnifiedJedis jedis;
    private final Map<String, SandboxExecutionGuard> guards = new ConcurrentHashMap<>();
    private final Map<String, Thread> threads = new ConcurrentHashMap<>();
    private final Map<String, SandboxLease> leases = new ConcurrentHashMap<>();

    private GuardMain(UnifiedJedis jedis) {
        this.jedis = jedis;
    }

    public static void main(String[] args) throws IOException {
        var main = new GuardMain(RedisClient.create("127.0.0.1", Integer.parseInt(args[0])));
        var in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line; (line = in.readLine()) != null; ) {
            main.obey(line.split("\t", -1));
        }
        // Threads that wait for a slot must not keep a forgotten JVM alive.
        Runtime.getRuntime().halt(0);
    }

    private void obey(String[] words) {
        switch (words[0]) {
            case "guard" -> guards.put(words[1], built(words[2], words[3], words[4]));
            case "store" -> guards.put(words[1], ofStore(words[2]));
            case "enter" -> enter(words);
            case "crowd" -> crowd(words);
            case "interrupt" -> threads.get(words[1]).interrupt();
            case "leave" -> leave(words[1]);
            default -> throw new IllegalArgumentException(words[0]);
        }
    }

    private SandboxExecutionGuard built(String prefix, String ttl, String retry) {
        var builder = RedisSandboxExecutionGuard.builder(jedis);
        if (!prefix.isEmpty()) {
            builder.keyPrefix(prefix);
        }
        if (!ttl.isEmpty()) {
            builder.leaseTtl(Duration.ofMillis(Long.parseLong(ttl)));
        }
        if (!retry.isEmpty()) {
            builder.retryInterval(Duration.ofMillis(Long.parseLong(retry)));
        }
        return builder.build();
    }

    private SandboxExecutionGuard ofStore(String prefix) {
        var store =
                prefix.isEmpty()
                        ? RedisDistributedStore.fromJedis(jedis)
                        : RedisDistributedStore.fromJedis(jedis, prefix);
        return store.sandboxExecutionGuard();
    }

    private interface Work {
        void run() throws Exception;
    }

    private void start(String id, Work work) {
        var thread = new Thread(() -> {
            try {
                work.run();
            } catch (InterruptedException e) {
                OUT.println("interrupted " + id);
            } catch (Exception e) {
                OUT.println("failed " + id + " " + e);
            }
        });
        threads.put(id, thread);
        thread.start();
    }

    private static SandboxIsolationKey key(String scope, String value) {
        var context = RuntimeContext.builder().userId(value).sessionId(value).build();
        return SandboxIsolationKey.resolve(IsolationScope.valueOf(scope), context, value).orElseThrow();
    }

    private void enter(String[] words) {
        var key = key(words[3], words[4]);
        start(words[1], () -> {
            leases.put(words[1], guards.get(words[2]).tryEnter(key));
            OUT.println("entered " + words[1]);
        });
    }

    private void leave(String id) {
        leases.get(id).close();
        OUT.println("left " + id);
    }

    private void crowd(String[] words) {
        var key = key(words[3], words[4]);
        start(words[1], () -> {
            while (!Files.exists(Path.of(words[5] + ".end"))) {
                try (var lease = guards.get(words[2]).tryEnter(key)) {
                    append(words[5], "start " + words[1] + "\n");
                    Thread.sleep(10);
                    append(words[5], "end " + words[1] + "\n");
                }
            }
            OUT.println("left " + words[1]);
        });
    }

    private static void append(String file, String line) throws IOException {
        Files.writeString(Path.of(file), line, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
    }
}
