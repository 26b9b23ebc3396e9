// The common frame of every main().
#pragma once

#include <functional>

#include "base/error.hpp"

namespace framewire {

/// Runs `program` and returns the exit status for main(): that of `program`, or that of the Error it throws. The error
/// is printed on standard error in one sentence after `name`.
/// Before that it reserves closed standard descriptors (standard_streams.hpp). It also ignores SIGPIPE and SIGXFSZ: a
/// closed reader or a file size limit then only makes write() fail.
int run_program(const char* name, const std::function<ExitStatus()>& program);

}  // namespace framewire
