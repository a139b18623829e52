#pragma once

#include <memory>
#include <optional>
#include <string>

#include "guard/descriptor.hpp"
#include "guard/lease.hpp"
#include "guard/poller.hpp"
#include "guard/report.hpp"
#include "guard/result.hpp"

namespace store {

/// How an entry stands while it waits.
struct Standing {
    std::string holder;                ///< the token that holds the slot; empty while it is free
    std::optional<long long> ahead{};  ///< how many came before, where the store has a queue
};

/// Told while an entry waits. Returns when it wants to be told again at the latest.
using OnTaken = std::function<guard::Deadline(const Standing& standing)>;

/// Where slots are kept: the contract of DESIGN section 3, which tests/store/contract.cpp tries on
/// every store. An object serves one claim of one process.
class Store {
public:
    virtual ~Store() = default;

    /// Blocks until the slot is entered, the patience is over (`Fault::taken`), or `poller` is
    /// interrupted. After an error, call `release`: an answer that was lost may have been a yes.
    virtual guard::Result<guard::Lease> enter(const guard::Patience& patience,
                                              guard::Poller& poller, const OnTaken& on_taken) = 0;

    /// Keeps the lease until `run` is interrupted (the command has ended) or the lease is lost.
    virtual guard::Holding hold(const guard::Lease& lease, guard::LeasedRun& run) = 0;

    /// Frees the slot if our token still holds it; else, or where nothing was ever asked for, does
    /// nothing. Idempotent. Gives up at `until`.
    virtual guard::Result<guard::Done> release(guard::Deadline until, guard::Poller& poller) = 0;

    /// Like `release`, but the slot stays closed for `span` yet. Where leases lapse it returns at
    /// once, and the slot frees itself.
    virtual guard::Result<guard::Done> release_after(guard::Duration span, guard::Deadline until,
                                                     guard::Poller& poller) = 0;

    /// Whether `token` holds the claim's slot now: a nested call asks for its parent's.
    virtual guard::Result<bool> held_by(const std::string& token, guard::Deadline until,
                                        guard::Poller& poller) = 0;

    /// Whether a lease ends by itself after the claim's ttl, unless it is renewed. Where none does,
    /// its deadline is `never`, and nobody gets in before the last holder of the anchor is gone.
    [[nodiscard]] virtual bool leases_lapse() const noexcept = 0;

    /// A descriptor, close-on-exec, that keeps the slot ours while any process has it open, so that
    /// it outlives this one; none where the lease does that.
    [[nodiscard]] virtual guard::Descriptor anchor() const = 0;
};

/// How we know a server that is reached by TLS, and how it knows us. Files are in PEM form.
struct TlsAccess {
    std::string cacert;       ///< file of the authorities to trust; empty: the system's
    std::string cert;         ///< file of our certificate, where the server wants one
    std::string key;          ///< file of its private key, not encrypted
    std::string server_name;  ///< whom the server's certificate must name; empty: the URL's host
    bool insecure = false;    ///< take any certificate

    bool operator==(const TlsAccess&) const = default;
};

/// How the user wants stores to be reached.
struct Access {
    std::string url;
    std::optional<std::string> password;  ///< where the URL has none
    guard::Duration connect_timeout;
    guard::Duration response_timeout;
    guard::Duration retry_interval;
    TlsAccess tls{};
    std::string sentinel_user{};  ///< our login at sentinels, apart from the servers'
    std::optional<std::string> sentinel_password{};
    int min_replicas = 0;  ///< how many replicas must have an entry or a renewal before it counts
};

/// The store that the URL's scheme names, for `claim`. Nothing is connected yet. A URL that no
/// store understands is a configuration error which lists the schemes there are.
[[nodiscard]] guard::Result<std::unique_ptr<Store>> open(const Access& access, guard::Claim claim,
                                                         guard::Reporter reporter);

}  // namespace store
