#include "support/certificates.hpp"

#include <stdexcept>

#include "support/process.hpp"

namespace support {
namespace {

/// Small keys of a kind that is made in no time.
const std::vector<std::string> new_key{"-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
                                       "-nodes"};

std::vector<std::string> request(const std::vector<std::string>& more) {
    std::vector<std::string> words{"req"};
    words.insert(words.end(), new_key.begin(), new_key.end());
    words.insert(words.end(), more.begin(), more.end());
    return words;
}

}  // namespace

void openssl(const std::vector<std::string>& arguments) {
    std::vector<std::string> argv{"openssl"};
    argv.insert(argv.end(), arguments.begin(), arguments.end());
    Process process(argv);
    if (process.wait() != 0)
        throw std::runtime_error("openssl " + arguments.front() + " fails: " + process.err());
}

Authority::Authority(const std::string& name) {
    openssl(request({"-x509", "-days", "10", "-subj", "/O=Test/CN=" + name, "-keyout",
                     dir_ / "authority.key", "-out", cert()}));
}

Identity Authority::issue(const std::string& hosts, int days) {
    const auto path = new_path();
    const Identity made{path + ".pem", path + ".key"};
    openssl(request({"-subj", "/O=Test", "-keyout", made.key, "-out", path + ".csr"}));
    write_file(path + ".ext", hosts.empty() ? "" : "subjectAltName=" + hosts + "\n");
    openssl({"x509", "-req", "-in", path + ".csr", "-CA", cert(), "-CAkey", dir_ / "authority.key",
             "-set_serial", std::to_string(files_), "-days", std::to_string(days), "-extfile",
             path + ".ext", "-out", made.cert});
    return made;
}

Identity Authority::self_signed(const std::string& hosts) {
    const auto path = new_path();
    const Identity made{path + ".pem", path + ".key"};
    openssl(request({"-x509", "-days", "10", "-subj", "/O=Test", "-addext",
                     "subjectAltName=" + hosts, "-keyout", made.key, "-out", made.cert}));
    return made;
}

std::string Authority::encrypted_key(const Identity& identity) {
    const auto path = new_path();
    openssl({"pkey", "-in", identity.key, "-aes128", "-passout", "pass:secret", "-out", path});
    return path;
}

std::string Authority::file(const std::string& text) {
    const auto path = new_path();
    write_file(path, text);
    return path;
}

}  // namespace support
