#pragma once

namespace store::redis {

/// To be called before anything else of OpenSSL is.
void start_openssl() noexcept;

}  // namespace store::redis
