// Errors in the command line.
#pragma once

#include <stdexcept>

#include "weft/core/error.h"

namespace weft::program {

/// Thrown for an invalid command line. The exit code is 2.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Runs `make` and rethrows ArgumentErrors as UsageErrors. To be used if all arguments of `make`
/// come from the command line. Errors in files and data propagate unchanged.
template <class Make>
auto rethrow_as_usage(Make&& make) {
  try {
    return make();
  } catch (const ArgumentError& e) {
    throw UsageError(e.what());
  }
}

}  // namespace weft::program
