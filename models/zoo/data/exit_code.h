// The error handling that the main() functions of the zoo share.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <exception>

namespace weft::zoo {

/// Calls run(). Returns the exit code 0, or prints an error as "zoo_NAME: MESSAGE" to stderr and
/// returns 1.
template <class Run>
int exit_code(const char* name, const Run& run) {
  try {
    run();
    return 0;
  } catch (const std::exception& e) {
    fmt::print(stderr, "zoo_{}: {}\n", name, e.what());
    return 1;
  }
}

}  // namespace weft::zoo
