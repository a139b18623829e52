// spdlog 1.10 as a library, without its asynchronous loggers and its file sinks: all of its code,
// and the instances that its headers leave to the library.
#include <memory>
#include <mutex>
#include <string>

#include <spdlog/details/null_mutex.h>
#include <spdlog/details/synchronous_factory.h>

#include <spdlog/common-inl.h>
#include <spdlog/details/backtracer-inl.h>
#include <spdlog/details/log_msg-inl.h>
#include <spdlog/details/log_msg_buffer-inl.h>
#include <spdlog/details/os-inl.h>
#include <spdlog/details/periodic_worker-inl.h>
#include <spdlog/details/registry-inl.h>
#include <spdlog/logger-inl.h>
#include <spdlog/pattern_formatter-inl.h>
#include <spdlog/sinks/ansicolor_sink-inl.h>
#include <spdlog/sinks/base_sink-inl.h>
#include <spdlog/sinks/sink-inl.h>
#include <spdlog/sinks/stdout_color_sinks-inl.h>
#include <spdlog/sinks/stdout_sinks-inl.h>
#include <spdlog/spdlog-inl.h>

namespace spdlog {

template logger::logger(std::string, sinks_init_list::iterator, sinks_init_list::iterator);

namespace sinks {

template class base_sink<std::mutex>;
template class base_sink<details::null_mutex>;

template class stdout_sink_base<details::console_mutex>;
template class stdout_sink_base<details::console_nullmutex>;
template class stdout_sink<details::console_mutex>;
template class stdout_sink<details::console_nullmutex>;
template class stderr_sink<details::console_mutex>;
template class stderr_sink<details::console_nullmutex>;

template class ansicolor_sink<details::console_mutex>;
template class ansicolor_sink<details::console_nullmutex>;
template class ansicolor_stdout_sink<details::console_mutex>;
template class ansicolor_stdout_sink<details::console_nullmutex>;
template class ansicolor_stderr_sink<details::console_mutex>;
template class ansicolor_stderr_sink<details::console_nullmutex>;

}  // namespace sinks

using Logger = std::shared_ptr<logger>;
template Logger stdout_logger_mt<synchronous_factory>(const std::string&);
template Logger stdout_logger_st<synchronous_factory>(const std::string&);
template Logger stderr_logger_mt<synchronous_factory>(const std::string&);
template Logger stderr_logger_st<synchronous_factory>(const std::string&);
template Logger stdout_color_mt<synchronous_factory>(const std::string&, color_mode);
template Logger stdout_color_st<synchronous_factory>(const std::string&, color_mode);
template Logger stderr_color_mt<synchronous_factory>(const std::string&, color_mode);
template Logger stderr_color_st<synchronous_factory>(const std::string&, color_mode);

}  // namespace spdlog
