// What every main() has around its program.
#pragma once

#include <functional>

#include "base/error.hpp"

namespace framewire {

/// Runs `program`, and returns main()'s exit status: the one it returns, or that of the Error it throws, which is said
/// on standard error in one sentence behind `name`. Before that it sees to it that the standard descriptors are open
/// (standard_streams.hpp) and that a reader who leaves (SIGPIPE) or a file that may grow no more (SIGXFSZ) is an error
/// of write() and not the end.
int run_program(const char* name, const std::function<ExitStatus()>& program);

}  // namespace framewire
