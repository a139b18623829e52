#include "store/redis/route.hpp"

#include "store/redis/sentinel_route.hpp"
#include "store/redis/server_route.hpp"
#include "store/redis/tls.hpp"

namespace store::redis {

using guard::Result;

Result<std::unique_ptr<Route>> route_by(const Url& url, const Access& access,
                                        const guard::Reporter& reporter) {
    if (url.scheme.ends_with("+sentinel")) {
        auto address = SentinelAddress::from(url, access);
        if (!address) return address.error();
        if (const auto fit = add_tls(address->server, url, access.tls, reporter); !fit)
            return fit.error();
        for (auto& sentinel : address->sentinels) sentinel.tls = address->server.tls;
        return route_by_sentinels(std::move(*address));
    }
    auto endpoint = Endpoint::from(url, access.password);
    if (!endpoint) return endpoint.error();
    if (const auto fit = add_tls(*endpoint, url, access.tls, reporter); !fit) return fit.error();
    return route_to(std::move(*endpoint));
}

}  // namespace store::redis
